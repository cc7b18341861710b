"""Laws of whole calls: small languages, models that seldom end where they may, truncations; each method's own promise.

Every way the draws of a call can go is walked, and compared with a plain law (`tests/naive_laws.py`).
"""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from constrain.sampling.processors import MinP
from fuzz import Target
from naive_laws import MADE, Language, Toy, check, law

MOST = 9  # members, as token sequences: two particles walk their square


def judge(case: Any) -> None:
    """The method keeps its promise; nothing is asked where the vocabulary spells too much, or nothing."""
    pieces = (*(piece.encode() for piece in [*case["pieces"], *case["stop"]]), None)
    texts = frozenset(f"{text}{end}".encode() for text in case["texts"] for end in ("", *case["stop"]))
    language = Language({"choices": sorted(case["texts"]), "stop": case["stop"] or None}, pieces, texts)
    model, asked = Toy(language, case["seed"]), {name: value for name, value in case["asked"].items() if value}
    if asked.pop("min_p", False):
        asked["processors"] = [MinP(0.5)]
    if language.need(b"") < math.inf and len(law(language, model, {}, masked_first=False)) <= MOST:
        check(language, model, case["method"], {**language.options, **asked})


TEXTS = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4, unique=True)
PIECES = st.lists(st.sampled_from(["a", "b", "c", "ab", "bc", "aa", "d"]), min_size=1, max_size=5)
ASKED = st.fixed_dictionaries(
    {
        "temperature": st.sampled_from([None, 0.5, 1.7]),
        "top_k": st.sampled_from([None, 1, 2, 3]),
        "top_p": st.sampled_from([None, 0.4, 0.8]),
        "min_p": st.booleans(),
        "complete": st.sampled_from([False, False, True]),
        "max_tokens": st.sampled_from([None, 2, 3, 5]),
    }
)
CASES = st.fixed_dictionaries(
    {
        "texts": TEXTS,
        "pieces": PIECES,
        "stop": st.sampled_from([[], ["#"]]),
        "asked": ASKED,
        "method": st.integers(1, 2**20).map(lambda number: list(MADE)[number % len(MADE)]),
        "seed": st.integers(0, 99),
    }
)
TARGETS = [Target("laws", CASES, judge, 60)]
