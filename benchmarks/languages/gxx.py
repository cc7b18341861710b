"""G++ as an oracle for syntax errors in a text of C++.

G++ goes on after an error of meaning, so its messages are sorted: if none is about syntax or a name, the text is a
member. Which names are types and templates decides how C++ is read, so if the first error is about a name there is no
verdict.
"""

from __future__ import annotations

import re
import shutil

from languages.gnu import messages_of
from languages.oracles import of_text

if shutil.which("g++") is None:
    raise ImportError("g++")

COMMAND = ["g++", "-std=gnu++17", "-fsyntax-only", "-fmax-errors=0", "-fno-diagnostics-show-caret", "-x", "c++", "-"]
SYNTAX = re.compile(
    r"error: (expected|stray|missing terminating|unterminated|empty character|exponent has|.*without a previous|"
    r".*before .* token|invalid digit|extra|.*at end of input|too many decimal)"
)
NAMES = re.compile(r"not declared|does not name|no member|not a member|has not been|not a template|unknown|undeclared")


@of_text
def gxx(shown: str) -> bool | None:
    """C++17 with GNU's extensions."""
    if "\0" in shown:  # the compiler takes it, the grammar does not
        return False
    messages = [line for line in messages_of(COMMAND, shown.encode()).splitlines() if "error: " in line]
    faults = [message for message in messages if SYNTAX.search(message)]
    if not faults and not NAMES.search("\n".join(messages)):
        return True
    return False if faults and faults[0] == messages[0] and not NAMES.search(messages[0]) else None
