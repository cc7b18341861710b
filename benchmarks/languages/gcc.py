"""GCC as an oracle for syntax errors in a text.

GCC goes on after an error of meaning (a name that is not declared, a wrong operand), so its messages are sorted: only
those about syntax make a text no member. Which names are types is beyond a grammar: where a name that occurs once
stands at a fault, the text is compiled again with that name declared as a type; so are names that GCC says are none.
Where GCC still says that it took an unknown name for a type, or that what stands before `=` is no target, there is no
verdict.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable

from languages.gnu import messages_of
from languages.oracles import of_text

if shutil.which("gcc") is None:
    raise ImportError("gcc")

COMMAND = ["gcc", "-std=gnu17", "-fsyntax-only", "-fmax-errors=0", "-fno-diagnostics-show-caret", "-x", "c", "-"]
SYNTAX = re.compile(
    r"error: (expected|stray|missing terminating|unterminated|invalid suffix|empty character|two or more data types"
    r"|too many decimal|exponent has|invalid digit|.*used with no following hex|both ‘|.*incomplete universal"
    r"|duplicate ‘|multiple storage|‘else’ without|ISO C forbids an empty|missing ‘\(’|‘asm’ operand"
    r"|old-style parameter declarations)"
    r"|data definition has no type|type defaults to ‘int’ (in|\[)"
    r"|extra semicolon|no semicolon at end|empty enum|empty declaration"
)
NO_VERDICT = re.compile(r"unknown type name|lvalue required as left")
UNKNOWN_TYPE = re.compile(r"unknown type name ‘(\w+)’")
UNKNOWN = re.compile(r"error: (unknown type name|.*undeclared)")
LINE = re.compile(r"<stdin>:(\d+):\d+: (?:error|warning)")
NAME = re.compile(rb"[A-Za-z_]\w*")


@of_text
def gcc(shown: str) -> bool | None:
    """C17 with GNU's extensions."""
    if "\0" in shown:  # the compiler takes it, the grammar does not
        return False
    text = shown.encode()
    messages = messages_of(COMMAND, text)
    if not SYNTAX.search(messages):
        if NO_VERDICT.search(messages) and (types := set(UNKNOWN_TYPE.findall(messages))):
            messages = messages_of(COMMAND, _declared(name.encode() for name in types) + text)
        return None if SYNTAX.search(messages) or NO_VERDICT.search(messages) else True
    types = _candidates(text, messages)
    if types:
        if not SYNTAX.search(messages_of(COMMAND, _declared(types) + text)):
            return True
    return None if UNKNOWN.search(messages) else False


def _declared(types: Iterable[bytes]) -> bytes:
    """A line that declares types."""
    return b" ".join(b"typedef int %s;" % name for name in types) + b"\n"


def _candidates(text: bytes, messages: str) -> list[bytes]:
    """Names on the first line with a fault and the one before that occur nowhere else."""
    found = LINE.search(messages)
    if found is None:
        return []
    lines, number = text.split(b"\n"), int(found[1])
    names = NAME.findall(b"\n".join(lines[max(0, number - 2) : number]))
    everywhere = NAME.findall(text)
    return [name for name in dict.fromkeys(names) if everywhere.count(name) == 1]
