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

"""What grammar and interpreter of the language of programs agree on."""

from __future__ import annotations

from dataclasses import dataclass
import keyword

DONE, ASK, REFUSE, FAILED = 'done', 'ask', 'refuse', 'failed'
ENDINGS = frozenset({DONE, ASK, REFUSE, FAILED})
FUNCTIONS = frozenset({'abs', 'max', 'min', 'range', 'round'})
JSON_WORDS = frozenset({'true', 'false', 'null'})
RESERVED = ENDINGS | FUNCTIONS | JSON_WORDS | frozenset(keyword.kwlist)
"""Names that neither a tool nor a variable can have."""

INDENT = '    '
MAX_DEPTH = 3  # of blocks in each other
MAX_NAME = 16  # characters
MAX_CALLS = 200
MAX_STEPS = 2000  # parts of the program that are evaluated
MAX_ROUNDS = 50  # of range()
MAX_NUMBER = 10 ** 9  # in range()
MAX_DIGITS = 9  # of round()
MAX_TEXT = 512  # characters of a text
MAX_PARTS = 1024  # of a value that a call returned
MAX_KEYS = 50  # of a table
MAX_SOURCE = 8000  # characters of a program
MAX_NESTED = 12  # expressions in each other


class ProgramError(Exception):
    """Raised when a program cannot be read or go on; the message is a line for the model."""

    def __init__(self, message: str) -> None:
        printable = ''.join(c if c.isprintable() else ' ' for c in message)
        super().__init__(' '.join(printable.split()))


@dataclass(frozen=True)
class Ending:
    """
    How a program ended.

    :param kind: one of ENDINGS
    """

    kind: str
    text: str
