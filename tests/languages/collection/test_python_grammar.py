"""grammars/python on syntax that this interpreter may not know, and on the standard library."""

import ast
import random
import sysconfig
from pathlib import Path

import pytest

import constrain
from tables import table

TABLE = table("python_grammar")

BYTES = constrain.Vocabulary([*(bytes([i]) for i in range(256)), None], eos_ids=[256])
NEWER = TABLE["newer"]
NEVER = TABLE["refused"]


@pytest.fixture(scope="module")
def python():
    return constrain.compile(constrain.collection.load("python"), BYTES)


def allowed(matcher, text: bytes) -> int:
    """The number of bytes of the text that the matcher reads, one by one."""
    return next((i for i in range(len(text)) if not matcher.advance_bytes(text[i : i + 1])), len(text))


@pytest.mark.parametrize("text", NEWER)
def test_newer_syntax(python, text):
    matcher = python.matcher()
    assert allowed(matcher, text.encode()) == len(text.encode())
    assert matcher.is_accepting()


@pytest.mark.parametrize("text", NEVER)
def test_no_version_reads(python, text):
    matcher = python.matcher()
    assert not (matcher.advance_bytes(text.encode()) and matcher.is_accepting())


def test_files_of_the_standard_library(python):
    """Each of them, and the beginnings of one at every byte."""
    root = Path(sysconfig.get_path("stdlib"))
    paths = random.Random(4).sample(sorted(root.glob("*.py")), 12)
    for path in paths:
        text = path.read_bytes()
        ast.parse(text)
        matcher = python.matcher()
        assert allowed(matcher, text) == len(text), path
        assert matcher.is_accepting(), path


def test_names_of_characters(python):
    matcher = python.matcher()
    assert matcher.advance_bytes(b'"\\N{SNOWMAN}" f"\\N{EM DASH}{a}"')
    assert matcher.is_accepting()
    assert not python.matcher().advance_bytes(b'"\\N{"')


def test_soft_keywords_are_names_and_statements(python):
    """Both readings go on side by side until the text decides."""
    matcher = python.matcher()
    assert matcher.advance_bytes(b"match (x)")
    assert matcher.is_accepting()
    block = matcher.fork()
    assert block.advance_bytes(b":\n  case _")
    assert not block.is_accepting()
    assert block.advance_bytes(b": pass")
    assert block.is_accepting()
    assert matcher.advance_bytes(b".y = 1")
    assert matcher.is_accepting()


def test_words_are_whole(python):
    for text in (b"x = notx\n", b"from a import b\n", b"x = 1if a else 2\n"):
        matcher = python.matcher()
        assert matcher.advance_bytes(text)
        assert matcher.is_accepting()
    for text in (b"from a importb", b"for x iny", b"x iny", b"x = a if b elsec", b"class C: defx():"):
        assert not python.matcher().advance_bytes(text)
