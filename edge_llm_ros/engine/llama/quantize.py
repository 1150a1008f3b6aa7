# Copyright 2026 edge_llm_ros contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Writes a model anew with weights of fewer bits."""

from __future__ import annotations

from collections.abc import Mapping
import ctypes
import os
from pathlib import Path
from typing import Any

from edge_llm_ros.engine.llama import library
from edge_llm_ros.engine.llama.activations import Importance
from edge_llm_ros.engine.llama.model import LlamaModel
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.flow.errors import EngineError
import llama_cpp.llama_cpp as api

FILE_TYPES: Mapping[str, int] = {
    'Q4_0': api.LLAMA_FTYPE_MOSTLY_Q4_0, 'Q4_K_S': api.LLAMA_FTYPE_MOSTLY_Q4_K_S,
    'Q4_K_M': api.LLAMA_FTYPE_MOSTLY_Q4_K_M, 'IQ4_XS': api.LLAMA_FTYPE_MOSTLY_IQ4_XS,
    'Q5_K_M': api.LLAMA_FTYPE_MOSTLY_Q5_K_M, 'Q6_K': api.LLAMA_FTYPE_MOSTLY_Q6_K,
    'Q8_0': api.LLAMA_FTYPE_MOSTLY_Q8_0}
# What is worth quantizing: eight bits have lost next to nothing.
_FINE = {'0': 'F32', '1': 'F16', '7': 'Q8_0', '32': 'BF16'}
_PART = '.part'


def check_source(path: str, requantize: bool) -> None:
    """
    Refuse a file whose weights have lost too much already.

    :param requantize: whether it is taken all the same
    :raises EngineError: with the reason and what to do
    """
    config = EngineConfig(path, gpu_layers=0)
    model = LlamaModel(config, lambda: True, vocab_only=True)
    file_type = model.metadata('general.file_type')
    model.close()
    if file_type not in _FINE and not requantize:
        raise EngineError(
            f'{path}: its weights are quantized already (general.file_type '
            f'{file_type or "is missing"}), and what they lost does not come back. Take the '
            f'{", ".join(_FINE.values())} file, or give --requantize for an experiment.')


def quantize(source: str, target: Path, file_type: str, importance: Importance, threads: int,
             requantize: bool = False) -> None:
    """
    Write a model with weights of another type.

    :param target: appears once it is whole
    :param importance: of each weight's inputs; empty for all alike
    :param requantize: whether a source of few bits is taken
    :raises EngineError: if it cannot be done
    """
    check_source(source, requantize)
    if target.exists():
        raise EngineError(f'{target}: is there already. Delete it, or give another name.')
    params = api.llama_model_quantize_default_params()
    params.nthread = threads
    params.ftype = FILE_TYPES[file_type]
    params.allow_requantize = True
    entries = _entries(importance)
    params.imatrix = ctypes.cast(entries, type(params.imatrix)) if importance else None
    library.start()
    library.errors.clear()
    part = target.with_name(target.name + _PART)
    try:
        failed = api.llama_model_quantize(
            os.fsencode(source), os.fsencode(part), ctypes.byref(params))
        if failed:
            raise EngineError(f'{source}: llama.cpp cannot write it as {file_type}: '
                              f'{library.why() or "no reason given"}.')
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _entries(importance: Importance) -> Any:
    """Return llama.cpp's list, which ends with an entry that has no name."""
    entries = (api.llama_model_imatrix_data * (len(importance) + 1))()
    for entry, (name, values) in zip(entries, importance.items()):
        entry.name = name.encode()
        entry.data = values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        entry.size = values.size
    return entries
