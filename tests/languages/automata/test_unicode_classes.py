r"""Character sets against Python's `re`, for the code points below U+20000, and against the `regex` package."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import Literals, chars
from constrain.languages.automata.unicode import casing, intervals
from constrain.languages.automata.unicode import classes as unicode_classes

CLASSES = [
    r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", ".", r"[\w-]", r"[^\W\d]", "[a-z]", "[^a-z]", "[A-Zſ]", r"[\Wa]",
    r"[\W\da]", "[İıi]", "[\u0300-\u03ff]", "[\U0001e900-\U0001e943]", r"[^\x00-\x7f]", r"[\141-\x63]", r"[\b\n]",
    "[]-]", r"[\]^-]",
]  # fmt: skip
CHARACTERS = [
    "k", "K", "\u212a", "İ", "i", "ı", "µ", "ß", "ẞ", "ǅ", "\u0345", "ΐ", "ﬅ", "ſ",
    r"\u0041", r"\U0001F600", r"\N{DIGIT ONE}",
]  # fmt: skip
FLAGS = [0, re.IGNORECASE, re.ASCII, re.IGNORECASE | re.ASCII, re.DOTALL]
SCANNED = 0x20000  # every character with case, every letter of an alphabet; the rest would only cost time


def scanned(pattern, flags):
    found = re.compile(pattern, flags).finditer(unicode_classes.every_character()[:SCANNED])
    return intervals.union((match.start(), match.end() - 1) for match in found)


@pytest.mark.parametrize("pattern", CLASSES + CHARACTERS)
def test_every_code_point_as_re(pattern):
    for flags in FLAGS:
        node = parse_python(pattern, flags=flags)
        if isinstance(node, Literals):
            node = chars((ord(text), ord(text)) for text in node.texts)
        assert intervals.common(node.ranges, ((0, SCANNED - 1),)) == scanned(pattern, flags), flags


def test_case_of_every_character_as_re():
    folding = casing.python_folding()
    cased = "".join(map(chr, folding.groups))
    alone = [
        c
        for c in unicode_classes.every_character()
        if (c != c.lower() or c != c.upper()) and ord(c) not in folding.groups
    ]
    for character in [*cased, *alone]:
        want = re.findall(re.escape(character), cased, re.IGNORECASE) or [character]
        assert folding.close(((ord(character),) * 2,)) == intervals.union((ord(c), ord(c)) for c in want)


def test_ecma_folding():
    folding = casing.ecma_folding()
    for character, others in {"k": "kK\u212a", "s": "sSſ", "i": "iI", "ß": "ßẞ", "ı": "ı", "İ": "İ", "ᾈ": "ᾀᾈ"}.items():
        assert folding.close(((ord(character),) * 2,)) == intervals.union((ord(c), ord(c)) for c in others)


def test_categories_are_a_partition():
    short = ["C", "L", "M", "N", "P", "S", "Z"]
    found = [unicode_classes.category(name) for name in short]
    assert intervals.union(*found) == intervals.ANY
    assert sum(high - low + 1 for ranges in found for low, high in ranges) == 0x110000 - 0x800


def test_names_of_properties():
    same = [
        ("Lu", "Uppercase_Letter"),
        ("L", "gc=Letter"),
        ("Nd", "digit"),
        ("sc=Grek", "Script=Greek"),
        ("Alpha", "Alphabetic"),
    ]
    for one, other in [*same, ("scx=Latn", "Script_Extensions=Latin"), ("General_Category=Cn", "Unassigned")]:
        assert unicode_classes.unicode_property(one) == unicode_classes.unicode_property(other) is not None
    for unknown in ["", "Foo", "sc=Foo", "gc=Greek", "Greek", "foo=L", "Lx", "="]:
        assert unicode_classes.unicode_property(unknown) is None


def test_table_is_what_its_script_writes(repository: Path) -> None:
    regex = pytest.importorskip("regex", reason="the tables are made with the regex package")
    if not regex.search(r"\p{Script=Sidetic}", "\U00010940"):
        pytest.skip("this version of the regex package has an older Unicode")
    sys.path.insert(0, str(repository / "scripts"))
    try:
        make = import_module("make_unicode_tables")
    finally:
        sys.path.pop(0)
    assert unicode_classes.TABLES.read_text(encoding="utf-8") == make.tables()


@pytest.mark.parametrize("a", [(), ((0, 5),), ((0, 0x10FFFF),), ((3, 7), (10, 10)), ((7, 7),), ((0xD000, 0xE001),)])
@pytest.mark.parametrize("b", [(), ((5, 9),), ((0, 2), (8, 11), (0xFFFF, 0x10000))])
def test_interval_operations(a, b):
    a, b = intervals.union(a), intervals.union(b)
    points = [c for edge in (*sum((*a, *b), ()), 0, 0x10FFFF) for c in (edge - 1, edge, edge + 1) if 0 <= c <= 0x10FFFF]
    points = [c for c in points if not 0xD800 <= c <= 0xDFFF]
    for c in points:
        assert contains(intervals.common(a, b), c) == (contains(a, c) and contains(b, c))
        assert contains(intervals.union(a, b), c) == (contains(a, c) or contains(b, c))
        assert contains(intervals.negate(a), c) == (not contains(a, c))
        assert (intervals.single(a) == c) == (a == ((c, c),))


def contains(ranges, code_point):
    return any(low <= code_point <= high for low, high in ranges)


def test_white_space_is_where_it_is_looked_for():
    every = unicode_classes.every_character()
    assert unicode_classes.python_class("s")[-1][1] == max(m.start() for m in re.finditer(r"\s", every))
