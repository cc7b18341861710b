"""Compilers as oracles for the syntax of a text: of C, C++, Java, JavaScript and Go.

GCC and G++ go on after an error of meaning, so their messages are sorted: only those about syntax make a text no
member. The parsers of javac and of Node (V8) answer from a process that reads texts and writes verdicts; where a
message is about more than syntax, or about what the grammar leaves out, there is no verdict. `oracles.PROGRAMS` names
the programs.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from languages.oracles import GOFMT, of_text

PROGRAMS = Path(__file__).parent / "programs"


class Reader:
    """A program that is started when it is first asked. by_line: a text is a line, and has no length before it."""

    def __init__(self, *command: str, by_line: bool = False) -> None:
        self.command, self.by_line = command, by_line
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, text: bytes) -> str:
        """The answer to a text, which goes to the program behind its length. Raises RuntimeError: the program ended."""
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(text + b"\n" if self.by_line else len(text).to_bytes(4, "big") + text)
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode().rstrip("\n")
        if not answer:
            raise RuntimeError(f"{self.command[0]} ended; is it the right version?")
        return answer


MISSING = re.compile(r"<stdin>:(\d+):\d+: fatal error: .*: No such file or directory")


def messages_of(command: Sequence[str], text: bytes) -> str:
    """The messages of a compiler that reads its standard input, in English.

    It stops at a header that is not there, so such a line is left out, and the text is read again.
    """
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    lines = text.split(b"\n")
    while True:
        run = subprocess.run(command, input=b"\n".join(lines), capture_output=True, env=environment, check=False)
        messages = run.stderr.decode(errors="replace")
        missing = MISSING.search(messages)
        number = int(missing[1]) if missing else 0
        is_faulty = re.search(rf"<stdin>:{number}:\d+: error", messages)  # as a header without its last quote
        if missing is None or is_faulty or not lines[number - 1]:
            return messages
        lines[number - 1] = b""


GCC = ["gcc", "-std=gnu17", "-fsyntax-only", "-fmax-errors=0", "-fno-diagnostics-show-caret", "-x", "c", "-"]
C_SYNTAX = re.compile(
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
    """C17 with GNU's extensions.

    Which names are types is beyond a grammar: where a name that occurs once stands at a fault, the text is compiled
    again with that name declared as a type; so are names that GCC says are none. Where GCC still says that it took an
    unknown name for a type, or that what stands before `=` is no target, there is no verdict.
    """
    if "\0" in shown:  # the compiler takes it, the grammar does not
        return False
    text = shown.encode()
    messages = messages_of(GCC, text)
    if not C_SYNTAX.search(messages):
        if NO_VERDICT.search(messages) and (types := set(UNKNOWN_TYPE.findall(messages))):
            messages = messages_of(GCC, _declared(name.encode() for name in types) + text)
        return None if C_SYNTAX.search(messages) or NO_VERDICT.search(messages) else True
    types = _candidates(text, messages)
    if types:
        if not C_SYNTAX.search(messages_of(GCC, _declared(types) + text)):
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


GXX = ["g++", "-std=gnu++17", "-fsyntax-only", "-fmax-errors=0", "-fno-diagnostics-show-caret", "-x", "c++", "-"]
CPP_SYNTAX = re.compile(
    r"error: (expected|stray|missing terminating|unterminated|empty character|exponent has|.*without a previous|"
    r".*before .* token|invalid digit|extra|.*at end of input|too many decimal)"
)
NAMES = re.compile(r"not declared|does not name|no member|not a member|has not been|not a template|unknown|undeclared")


@of_text
def gxx(shown: str) -> bool | None:
    """C++17 with GNU's extensions. None: the first error is about a name, which decides how C++ is read."""
    if "\0" in shown:  # the compiler takes it, the grammar does not
        return False
    messages = [line for line in messages_of(GXX, shown.encode()).splitlines() if "error: " in line]
    faults = [message for message in messages if CPP_SYNTAX.search(message)]
    if not faults and not NAMES.search("\n".join(messages)):
        return True
    return False if faults and faults[0] == messages[0] and not NAMES.search(messages[0]) else None


JAVA = Reader("java", str(PROGRAMS / "Parses.java"))
JAVA_BEYOND = re.compile(
    r"int\.number\.too\.large|repeated\.modifier|ret\.type\.req|restricted\.type|preview|fault|varargs|illegal\.char$"
    r"|this\.as\.identifier|array\.and\.receiver|variable\.not\.allowed|class\.not\.allowed|invalid\.lambda"
    r"|mod\.not\.allowed|record\.|underscore|illegal\.unicode|canonical|annotation\.decl\.not|bad\.initializer"
)


@of_text
def javac(text: str) -> bool | None:
    """A compilation unit of Java 17."""
    answer = JAVA.ask(text.encode())
    return True if answer == "ok" else None if JAVA_BEYOND.search(answer) else False


NODE = Reader("node", "--no-warnings", "--experimental-vm-modules", str(PROGRAMS / "parses.js"))
NODE_BEYOND = re.compile(
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
    """Script or module, by V8."""
    answer = NODE.ask(text.encode())
    if answer == '""' or answer.endswith(',""]'):
        return True
    return None if NODE_BEYOND.search(answer) else False


@of_text
def gofmt(shown: str) -> bool:
    """A source file of Go: as a file, since from standard input gofmt takes fragments, too."""
    with tempfile.NamedTemporaryFile(suffix=".go") as file:
        file.write(shown.encode())
        file.flush()
        run = subprocess.run([GOFMT, "-e", "-l", file.name], capture_output=True, check=False)
    return run.returncode == 0
