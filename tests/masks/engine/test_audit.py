"""Compiling and following constraints reads no socket, and no file but the process's memory figures and lark's own
library."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = r"""
import sys
import constrain

vocabulary = constrain.Vocabulary.of_bytes()
HOSTILE = '{"$ref": "file:///etc/passwd"}', '{"$ref": "http://example.com/schema"}'


def everything(letter):
    for constraint in (
        constrain.json_schema({"properties": {letter: {"format": "uri", "pattern": letter}}, "uniqueItems": True}),
        constrain.json_schema({"$schema": "https://json-schema.org/draft/2020-12/schema", "enum": [letter]}),
        constrain.regex(letter + r"\w+"),
        constrain.regex(letter + r"\p{L}", dialect="ecma"),
        constrain.grammar(f'start: "{letter}" INT\n%import common.INT'),
        constrain.grammar(f'root ::= "{letter}"', format="gbnf"),
        constrain.triggered("<t>", constrain.regex(letter), "</t>"),
    ):
        matcher = constrain.compile(constraint, vocabulary).matcher()
        matcher.mask()
        matcher.advance(matcher.forced_bytes()[0] if matcher.forced_bytes() else 0)
        matcher.mask()
    for text in HOSTILE:
        try:
            constrain.json_schema(text)
        except constrain.SchemaError:
            continue
        raise AssertionError(text)
    try:
        constrain.grammar("start: x\n%import .x.x")
    except constrain.GrammarError:
        return
    raise AssertionError


everything("a")  # modules are imported, tables and kernels are read
seen = []
sys.addaudithook(lambda event, arguments: seen.append((event, arguments)) if watching else None)
watching = True
everything("b")
watching = False
touched = [
    (event, arguments[:2]) for event, arguments in seen
    if event.split(".")[0] in ("socket", "subprocess", "urllib", "ftplib", "http")
    or event == "open" and arguments[0] != "/proc/self/statm" and "lark/grammars" not in str(arguments[0])
]
assert seen
print(touched)
"""


def test_constraints_read_no_file_and_no_socket() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.strip() == "[]"
