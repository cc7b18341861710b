"""GCC as an oracle: has the text a syntax error?

GCC goes on after an error of meaning (a name that is not declared, a wrong operand), so its messages are sorted: only
those about syntax make a text no member. Which names are types is beyond a grammar: where a name that occurs once
stands at a fault, the text is compiled again with that name declared as a type, and where GCC says that it took an
unknown name for a type, or that what stands before `=` is no target, there is no verdict.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess

if shutil.which("gcc") is None:
    raise ImportError("gcc")

COMMAND = ["gcc", "-std=gnu17", "-fsyntax-only", "-fmax-errors=0", "-fno-diagnostics-show-caret", "-x", "c", "-"]
SYNTAX = re.compile(
    r"error: (expected|stray|missing terminating|unterminated|invalid suffix|empty character|two or more data types"
    r"|too many decimal|exponent has|invalid digit|.*used with no following hex|both ‘|.*incomplete universal"
    r"|duplicate ‘|multiple storage|‘else’ without|ISO C forbids an empty|missing ‘\(’|‘asm’ operand)"
    r"|data definition has no type|type defaults to ‘int’ (in|\[)"
    r"|extra semicolon|no semicolon at end|empty enum|empty declaration"
)
NO_VERDICT = re.compile(r"unknown type name|lvalue required as left")
UNKNOWN = re.compile(r"error: (unknown type name|.*undeclared)")
LINE = re.compile(r"<stdin>:(\d+):\d+: (?:error|warning)")
NAME = re.compile(rb"[A-Za-z_]\w*")


def gcc(text: bytes) -> bool | None:
    """C17 with GNU's extensions."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    if b"\0" in text:
        return False
    messages = _messages(text)
    if not SYNTAX.search(messages):
        return None if NO_VERDICT.search(messages) else True
    types = _candidates(text, messages)
    if types:
        declared = b" ".join(b"typedef int %s;" % name for name in types)
        if not SYNTAX.search(_messages(declared + b"\n" + text)):
            return True
    return None if UNKNOWN.search(messages) else False


def _messages(text: bytes) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    run = subprocess.run(COMMAND, input=text, capture_output=True, env=environment, check=False)
    return run.stderr.decode(errors="replace")


def _candidates(text: bytes, messages: str) -> list[bytes]:
    """Names on the first line with a fault and the one before that occur nowhere else."""
    found = LINE.search(messages)
    if found is None:
        return []
    lines, number = text.split(b"\n"), int(found[1])
    names = NAME.findall(b"\n".join(lines[max(0, number - 2) : number]))
    everywhere = NAME.findall(text)
    return [name for name in dict.fromkeys(names) if everywhere.count(name) == 1]
