"""The parser of javac as an oracle: a text is valid if it is a compilation unit.

One Java process reads texts and writes verdicts. Only the parser runs. A few of its messages are about more than
syntax, or about what this grammar leaves out: `BEYOND` tells them, and there is no verdict.
"""

from __future__ import annotations

import re
import shutil

from languages.oracles import of_text
from languages.process import PROGRAMS, Reader

if shutil.which("javac") is None:
    raise ImportError("javac")

READER = Reader("java", str(PROGRAMS / "Parses.java"))
BEYOND = re.compile(
    r"int\.number\.too\.large|repeated\.modifier|ret\.type\.req|restricted\.type|preview|fault|varargs|illegal\.char$"
    r"|this\.as\.identifier|array\.and\.receiver|variable\.not\.allowed|class\.not\.allowed|invalid\.lambda"
    r"|mod\.not\.allowed|record\.|underscore|illegal\.unicode|canonical|annotation\.decl\.not|bad\.initializer"
)


@of_text
def javac(text: str) -> bool | None:
    """A compilation unit of Java 17."""
    answer = READER.ask(text.encode())
    return True if answer == "ok" else None if BEYOND.search(answer) else False
