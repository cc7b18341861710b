"""Names that are refused are told with the known one that is nearly it; words of tokens that may begin a name."""

import random
from typing import Any

import numpy as np
import pytest

import constrain
from constrain import monitors
from constrain.monitors.monitor import NAME, Names
from constrain.monitors.python.lexicon import LEXICON as PYTHON
from constrain.monitors.sql.lexicon import LEXICON as SQL
from constrain.monitors.words import GROUP, Words

SHOP = {"customers": ["id", "name", "city"], "orders": ["id", "total"]}
ROWS = [  # language, its monitor, a text, the name in it, the name that is meant
    ("sql", SHOP, "SELECT nme FROM customers", "nme", "name"),
    ("sql", SHOP, "SELECT name FROM custmers", "custmers", "customers"),
    ("sql", SHOP, "SELECT customers.nme FROM customers", "nme", "name"),
    ("sql", SHOP, "SELECT lenght(name) FROM customers", "lenght", "length"),
    ("sql", SHOP, "SELECT name FROM customers WHERE ciy = 1", "ciy", "city"),
    ("sql", SHOP, "SELECT xyz FROM customers", "", ""),
    ("python", None, "import math\nprint(math.sqrtt(2))\n", "sqrtt", "sqrt"),
    ("python", None, "def f(count):\n    return cuont\n", "cuont", "count"),
    ("typescript", None, "const total = 1; console.log(totl);", "totl", "total"),
    ("c", None, "int main(void) { int total = 1; return totla; }", "totla", "total"),
    ("jinja", {"user": ["name"]}, "{% set title = 1 %}{{ titel }}", "titel", "title"),
]


@pytest.mark.parametrize(("language", "given", "text", "written", "meant"), ROWS, ids=[row[2] for row in ROWS])
def test_the_name_that_is_meant(language: str, given: Any, text: str, written: str, meant: str) -> None:
    monitor = getattr(monitors, language)(*([] if given is None else [given]))
    constraint = monitors.monitored(constrain.collection.load(language), monitor)
    fault = constraint.residual_fault(text)
    assert fault is not None
    assert (f"{written!r} is not known there; did you mean {meant!r}?" in fault) == bool(written)
    assert ("did you mean" in fault) == bool(written)
    if written:
        assert constraint.residual_fault(text.replace(written, meant)) is None


LETTERS = "abAB_"
KEYWORDS = frozenset({"ab", "aba", "b_b"})


def made_words(random_: random.Random) -> list[str]:
    """Some words of at most four letters."""
    return ["".join(random_.choices(LETTERS, k=random_.randint(1, 4))) for _ in range(6)]


def made_vocabulary(random_: random.Random) -> constrain.Vocabulary:
    """Bytes, and enough tokens of a space and a word, with equal ones among them, for a group."""
    words = [word.encode() for _ in range(GROUP // 2) for word in made_words(random_)]
    tokens = [bytes((byte,)) for byte in range(256)] + [b" " + word for word in words] + [b"<eos>"]
    return constrain.Vocabulary(tokens, eos_ids=[len(tokens) - 1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lexicon", [PYTHON, SQL])
def test_verdicts(lexicon, seed):
    """A word is refused unless some name goes on with it, and doubtful if only keywords do."""
    random_ = random.Random(seed)
    words = Words(made_vocabulary(random_))
    (group,) = (group for group in words.groups if group.before == b" ")
    for _ in range(20):
        fold = lexicon.folded
        listed = {fold(NAME, name.encode()).decode() for name in made_words(random_)}
        prefixes = random_.choice([(), ("_b",), ("ab_",)])
        names = Names(listed, words=KEYWORDS, keywords=KEYWORDS, prefixes=prefixes)
        begun = random_.choice(["", "", "a", "A", "_", "_b"])
        verdict = words.verdict(group, lexicon, names, begun.encode())
        flags = np.unpackbits(np.array(verdict).view(np.uint8), axis=1, bitorder="little")
        refused, doubtful = {*np.flatnonzero(flags[0]).tolist()}, {*np.flatnonzero(flags[1]).tolist()}
        for word, token in zip(group.words, group.tokens.tolist(), strict=True):
            text = fold(NAME, begun.encode() + word).decode()
            is_open = any(text.startswith(prefix) or prefix.startswith(text) for prefix in prefixes)
            is_certain = is_open or any(name.startswith(text) for name in listed - KEYWORDS)
            is_word = any(name.startswith(text) for name in KEYWORDS)
            assert (token in refused) == (not is_certain and not is_word), (text, listed, prefixes)
            assert (token in doubtful) == (is_word and not is_certain), (text, listed, prefixes)
