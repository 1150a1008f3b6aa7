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

"""Compares two files of one model, as the command line asks for it."""

from __future__ import annotations

import argparse
from pathlib import Path

from edge_llm_ros.bench.report import meta
from edge_llm_ros.engine.model_vocabulary import ModelVocabulary
from edge_llm_ros.eval.eval_setup import EvalSetup
from edge_llm_ros.eval.mission import all_cases
from edge_llm_ros.eval.model_check import (
    check_one_vocabulary, compare_models, summary, write_check)
from edge_llm_ros.eval.selection import Selection
from edge_llm_ros.eval.transcript import context_for, readings
from edge_llm_ros.flow.engine import EngineConfig
from edge_llm_ros.prompt.formats import chat_format
from edge_llm_ros.prompt.generation_limits import GenerationLimits


def check_models(args: argparse.Namespace, setup: EvalSetup, selection: Selection) -> int:
    """
    Let two files make the calls of missions' reference solutions, and say where they differ.

    :param setup: of the first file
    :param selection: of the missions
    :returns: 0, whatever they differ in
    """
    paths = [str(path) for path in args.models]
    check_one_vocabulary(paths[0], paths[1])
    model = ModelVocabulary(paths[0])
    try:
        written = chat_format('auto', model.info())
        found = readings(model, written, setup, selection.of(
            list(all_cases(setup.sets.places))))
    finally:
        model.close()
    limits = GenerationLimits()
    configs = [EngineConfig(path, context_tokens=context_for(found, limits.call_tokens),
                            max_sessions=2, threads=args.threads) for path in paths]
    pairs, surprises = compare_models(configs, written, found, limits)
    names = [Path(path).name for path in paths]
    for line in summary(names, pairs, surprises):
        print(line)
    cases = sum(len(reading.transcripts) for reading in found)
    print('report:', write_check(args.out, meta(
        paths[0], models=names, cases=cases), pairs, surprises))
    return 0
