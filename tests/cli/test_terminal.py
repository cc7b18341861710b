"""The commands at a terminal: colours, a stream, a sign of life. A pseudo-terminal stands for one."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from constrain.cli.forced import ForcedText
from constrain.cli.highlight import THEME, Said

pty = pytest.importorskip("pty", reason="pseudo-terminals are a thing of POSIX")
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
CONSTRAIN = str(Path(sys.executable).with_name("constrain"))


def at_terminal(*args: str, **environment: str) -> tuple[int, str]:
    """(exit code, what the terminal shows) of a command whose output and faults go to a terminal."""
    main, other = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    kept |= {"TERM": "xterm-256color", "COLUMNS": "120"}
    process = subprocess.Popen(
        [CONSTRAIN, *args], stdin=subprocess.DEVNULL, stdout=other, stderr=other, env=kept | environment
    )
    os.close(other)
    shown = b""
    while True:
        try:
            piece = os.read(main, 4096)
        except OSError:  # Linux: the other end was closed
            break
        if not piece:
            break
        shown += piece
    os.close(main)
    return process.wait(), shown.decode().replace("\r\n", "\n")


def coloured(text: str) -> str:
    """The text as a terminal of 256 colours gets it."""
    file = io.StringIO()
    screen = Console(file=file, force_terminal=True, color_system="256", theme=THEME, highlighter=Said())
    screen.out(text, highlight=True)
    return file.getvalue()


BAD = "\x1b[1;31m"
ROWS = [
    ("member", "\x1b[1;32mmember"),
    ("not a member: '}' is not allowed here", BAD + "'}'"),
    ("  at line 1, column 2\n     ab\n      ^", BAD + "b\x1b[0m\n"),
    ("refused: 'x@' after 'joe'", BAD + "'x@'"),
    ("allowed: 'reen' after 'g'", "\x1b[1;32mallowed"),
    ("constrain: RegexError: no\n  fix: yes", "\x1b[1;32mfix:"),
    ("constrain: RegexError: no", BAD + "RegexError"),
    ("  expected: `e`", "\x1b[33m`e`"),
    ("unused: terminal A is never used", "\x1b[1munused"),
]


@pytest.mark.parametrize("text, part", ROWS, ids=[text for text, _ in ROWS])
def test_words_keep_and_have_colours(text: str, part: str) -> None:
    shown = coloured(text)
    assert part in shown
    assert ESCAPE.sub("", shown) == text + "\n"


def test_words_without_a_meaning_have_no_colour() -> None:
    assert coloured("so many members") == "so many members\n"


def test_check_at_a_terminal(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("abd")
    args = ("check", "--regex", "abc", str(text))
    piped = subprocess.run([CONSTRAIN, *args], capture_output=True, text=True, check=False)
    assert "\x1b" not in piped.stdout
    code, shown = at_terminal(*args)
    assert (code, BAD in shown) == (1, True)
    assert ESCAPE.sub("", shown) == piped.stdout
    assert at_terminal(*args, NO_COLOR="1") == (1, piped.stdout)


def test_generate_at_a_terminal() -> None:
    code, shown = at_terminal("generate", "--regex", "abcd[0-9]{3}efgh", "--seed", "1")
    assert code == 0
    joined = shown.replace("\x1b[0m\x1b[36m", "")  # of one colour over several pieces
    assert re.search(r"\x1b\[36mabcd\x1b\[0m[0-9]{3}\x1b\[36mefgh\x1b\[0m\n", joined)  # cyan: forced
    assert re.search(r"abcd[0-9]{3}efgh\n.* tokens, .* seed 1, ", ESCAPE.sub("", shown))
    _, plain = at_terminal("generate", "--regex", "abcd[0-9]{3}efgh", "--seed", "1", "--no-stream", NO_COLOR="1")
    assert "\x1b[36m" not in plain
    assert re.findall("abcd[0-9]{3}efgh", plain) == re.findall("abcd[0-9]{3}efgh", ESCAPE.sub("", shown))


@pytest.mark.parametrize(
    "pattern, pieces, parts",
    [
        ("abc", ["abc"], [("abc", True)]),
        ("abc", ["a", "bc"], [("a", True), ("bc", True)]),
        ("(a|b)c", ["ac"], [("a", False), ("c", True)]),
        ("xa|xb", ["xb"], [("x", True), ("b", False)]),
        ("é|è", ["é"], [("é", False)]),  # the first byte is forced, the character is not
        ("aé+", ["aéé"], [("aé", True), ("é", False)]),
        ("ab?", ["ab"], [("a", True), ("b", False)]),  # the text could have ended
        ("abc", ["ax", "c"], [("a", True), ("x", False), ("c", False)]),  # no member
    ],
)
def test_what_was_forced(pattern: str, pieces: list[str], parts: list[tuple[str, bool]]) -> None:
    import constrain

    forced = ForcedText(constrain.regex(pattern))
    assert [part for piece in pieces for part in forced.split(piece)] == parts
