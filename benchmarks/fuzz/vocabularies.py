"""Vocabularies that spell some texts, in some ways, or not at all: masks are those of all sequences of tokens.

The second target takes bytes away from a vocabulary of all bytes, any of them, and walks through constraints of users.
"""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st
from test_spelled import compare
from test_unwritten import NAMED, UNNAMED, lacking, walk

import constrain
from fuzz import Target

LETTERS = ["a", "b", "é", "ñ", "€", "日", "本", "😀", '"', "\\", "\n", " "]
MEMBERS = st.lists(st.text(st.sampled_from(LETTERS), min_size=1, max_size=4), min_size=1, max_size=5, unique=True)


def check(case: Any) -> None:
    """Masks allow a token if and only if tokens complete a member after it."""
    tokens = [None if token is None else bytes.fromhex(token) for token in case["tokens"]]
    compare(constrain.Vocabulary([*tokens, None], eos_ids=[len(tokens)]), case["members"])


@st.composite
def cases(draw: Any) -> dict[str, Any]:
    """Members, and pieces of them as tokens: cut anywhere, doubled, beside tokens that fit nowhere."""
    members = draw(MEMBERS)
    texts = [text.encode() for text in members]
    pieces = [text[i:j] for text in texts for i in range(len(text)) for j in range(i + 1, min(i + 5, len(text)) + 1)]
    tokens = draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=14))
    others = draw(st.lists(st.one_of(st.none(), st.binary(min_size=1, max_size=3)), max_size=3))
    return {"tokens": [token and token.hex() for token in [*tokens, *others]], "members": members}


def check_missing(case: Any) -> None:
    """Masks ask for the end by tokens, whatever bytes are missing."""
    walk({**UNNAMED, **NAMED}[case["constraint"]](), lacking(case["missing"]), random.Random(case["seed"]), 6)


SPANS = st.tuples(st.integers(0, 255), st.integers(1, 48)).map(lambda span: [*range(span[0], min(sum(span), 256))])
MISSING = st.fixed_dictionaries(
    {
        "missing": st.one_of(SPANS, st.lists(st.integers(0, 255), max_size=12), st.lists(st.integers(0xC0, 255))),
        "constraint": st.sampled_from([*UNNAMED, *NAMED]),
        "seed": st.integers(0, 99),
    }
)

TARGETS = [
    Target("vocabularies", cases(), check, 150),
    Target("missing-bytes", MISSING, check_missing, 100),
]
