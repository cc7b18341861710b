"""Node (V8) as an oracle: a text is valid if it is a script or a module.

One process reads texts and writes verdicts. V8 also refuses what a grammar cannot see, or what this one leaves out
(names that are declared twice, targets of assignments, labels, strict mode, flags of regexes): `BEYOND` tells such
messages, for which there is no verdict.
"""

from __future__ import annotations

import re
import shutil

from languages.oracles import of_text
from languages.process import PROGRAMS, Reader

if shutil.which("node") is None:
    raise ImportError("node")

READER = Reader("node", "--no-warnings", "--experimental-vm-modules", str(PROGRAMS / "parses.js"))
BEYOND = re.compile(
    r"already been declared|Invalid left-hand side|Invalid destructuring|Undefined label"
    r"|Illegal (break|continue|return)|does not denote an iteration|strict mode|await is only valid"
    r"|Unexpected reserved word|must be declared in|Invalid regular expression|'super' keyword"
    r"|Illegal 'use strict'|Delete of|Unexpected eval|Duplicate|Octal|Missing initializer|Lexical declaration"
    r"|Classes may not|constructor|Invalid shorthand|new\.target|HTML comments|Unary operator used immediately"
    r"|functions can only|Generators can only|Illegal newline|Identifier directly after|Illegal await"
    r"|Yield expression not allowed|let is disallowed|Invalid optional chain|Private field"
    r"|is not defined in module|Undefined|Decimals with leading zeros|Rest"
)


@of_text
def node(text: str) -> bool | None:
    """Script or module."""
    answer = READER.ask(text.encode())
    if answer == '""' or answer.endswith(',""]'):
        return True
    return None if BEYOND.search(answer) else False
