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
"""Tensors of llama.cpp's graphs, as an eval callback is given them."""

from __future__ import annotations

import ctypes
from typing import Any

from edge_llm_ros.flow.errors import EngineError
from llama_cpp._ggml import libggml
import numpy as np
import numpy.typing as npt

_DIMENSIONS, _SOURCES, _OP_PARAMS, _NAME = 4, 10, 16, 64
_TYPES: dict[str, type[np.generic]] = {'f32': np.float32, 'i32': np.int32}
_F32, _I32 = 0, 26


class _Struct(ctypes.Structure):
    """A ggml_tensor; check_layout() holds it against what the library itself says of one."""

    _fields_ = [
        ('type', ctypes.c_int),
        ('buffer', ctypes.c_void_p),
        ('ne', ctypes.c_int64 * _DIMENSIONS),
        ('nb', ctypes.c_size_t * _DIMENSIONS),
        ('op', ctypes.c_int),
        ('op_params', ctypes.c_int32 * _OP_PARAMS),
        ('flags', ctypes.c_int32),
        ('src', ctypes.c_void_p * _SOURCES),
        ('view_src', ctypes.c_void_p),
        ('view_offs', ctypes.c_size_t),
        ('data', ctypes.c_void_p),
        ('name', ctypes.c_char * _NAME),
        ('extra', ctypes.c_void_p),
        ('padding', ctypes.c_char * 8)]


class _InitParams(ctypes.Structure):
    _fields_ = [('mem_size', ctypes.c_size_t), ('mem_buffer', ctypes.c_void_p),
                ('no_alloc', ctypes.c_bool)]


def _function(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(libggml, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


_pointer, _size = ctypes.c_void_p, ctypes.c_size_t
_op_name = _function('ggml_op_name', ctypes.c_char_p, ctypes.c_int)
_type_name = _function('ggml_type_name', ctypes.c_char_p, ctypes.c_int)
_get_name = _function('ggml_get_name', _pointer, _pointer)
_get_data = _function('ggml_get_data', _pointer, _pointer)
_nbytes = _function('ggml_nbytes', _size, _pointer)
_tensor_get = _function('ggml_backend_tensor_get', None, _pointer, _pointer, _size, _size)


class Tensor:
    """
    A tensor, valid while the callback runs that was given it.

    :param address: of the ggml_tensor
    """

    def __init__(self, address: int) -> None:
        self._address = address
        self._struct = _Struct.from_address(address)

    @property
    def name(self) -> str:
        """Return the name; that of a weight which was copied to a device is between two #."""
        name = bytes(self._struct.name).decode('utf-8', 'replace')
        return name.split('#')[1] if '#' in name else name

    @property
    def op(self) -> str:
        """Return the operation that makes it, in ggml's words."""
        return str(_op_name(self._struct.op).decode())

    @property
    def type(self) -> str:
        """Return the type of its numbers, in ggml's words."""
        return str(_type_name(self._struct.type).decode())

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the sizes of all four dimensions; the last is that of a row, as in numpy."""
        return tuple(self._struct.ne)[::-1]

    def source(self, number: int) -> Tensor:
        """Return an operand of the operation."""
        return Tensor(self._struct.src[number])

    def values(self) -> npt.NDArray[Any]:
        """Return a copy of its numbers, wherever they are; f32 and i32 only."""
        data = np.empty(_nbytes(self._address), np.uint8)
        _tensor_get(self._address, data.ctypes.data, 0, data.size)
        kind = np.dtype(_TYPES[self.type])
        return np.lib.stride_tricks.as_strided(
            data[:data.size // kind.itemsize * kind.itemsize].view(kind), self.shape,
            tuple(self._struct.nb)[::-1])


def check_layout() -> None:
    """
    Make tensors with the library's own functions, and hold the layout known here against them.

    :raises EngineError: if this llama.cpp has another one
    """
    init = _function('ggml_init', _pointer, _InitParams)
    new = _function('ggml_new_tensor_3d', _pointer, _pointer, ctypes.c_int, *[ctypes.c_int64] * 3)
    product = _function('ggml_mul_mat_id', _pointer, *[_pointer] * 4)
    free = _function('ggml_free', None, _pointer)
    set_name = _function('ggml_set_name', _pointer, _pointer, ctypes.c_char_p)
    context = init(_InitParams(1 << 20, None, False))
    try:
        weight = new(context, _F32, 8, 5, 3)
        vectors = new(context, _F32, 8, 2, 7)
        ids = new(context, _I32, 2, 7, 1)
        address = product(context, weight, vectors, ids)
        set_name(address, b'blk.0.product')
        struct, tensor = _Struct.from_address(address), Tensor(address)
        same = (
            list(struct.src[:3]) == [weight, vectors, ids] and not any(struct.src[3:])
            and list(struct.ne) == [5, 2, 7, 1] and list(struct.nb) == [4, 20, 40, 280]
            and struct.data == _get_data(address)
            and address + _Struct.name.offset == _get_name(address)
            and (tensor.name, tensor.op, tensor.type) == ('blk.0.product', 'MUL_MAT_ID', 'f32')
            and tensor.source(2).type == 'i32' and tensor.source(1).shape == (1, 7, 2, 8))
    finally:
        free(context)
    if not same:
        raise EngineError('this build of llama.cpp lays out its tensors in a way that is not '
                          'known here, so activations cannot be read. Quantize without '
                          '--calibrate.')
