"""Random patterns in Python's syntax, and the question whether we read one as `re` does, over all short texts."""

import contextlib
import importlib
import importlib.util
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import strategies as st

from constrain.errors import LimitError, RegexError
from constrain.languages.automata.parse.python import parse_python
from reading_oracle import members

ALPHABET = "ab \n"
TEXTS = ["".join(text) for length in range(5) for text in itertools.product(ALPHABET, repeat=length)]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "*?", "+?", "??", "{1,2}?"]
# where Python 3.10 is tested, possessive quantifiers and atomic groups are errors of `re` itself
POSSESSIVE = ["*+", "++", "?+", "{1,2}+"]

# Of the package `regex`; not `[\w&&[^b]]`: beside another alternative it takes b under the flag i (2026.11.19)
SET_ATOMS = [
    "[[ab]]", "[ab--b]", "[\\w&&[a ]]", "[a-b~~b]", "[a||[ ]]", "[[:alpha:]]", "[^[:space:]a]", "\\p{L}", "[\\PLb]",
]  # fmt: skip
REGEX_GROUPS = ["(?<n>", "(?|", "(?(DEFINE)(?<d>a|b))(", "(?(?=a)", "(?(?<!b)a|", "(?i)("]
POSIX = re.compile(r"\[:\^?\w+:\]")
SETS = re.compile(r"--|&&|~~|\|\||\[\[")

plain_atoms = st.sampled_from(
    ["a", "b", "A", " ", "\\n", ".", "[ab]", "[^a]", "\\w", "\\W", "\\s", "ab", "[^\\Wb]", ""]
)
anchors = st.sampled_from(["^", "$", "\\A", "\\Z", "\\b", "\\B"])


def patterns(
    atoms: st.SearchStrategy[str], groups: Sequence[str], quantifiers: Sequence[str]
) -> st.SearchStrategy[str]:
    """Patterns of these atoms, groups and quantifiers."""

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
            st.tuples(inner, st.sampled_from(quantifiers)).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
            st.tuples(st.sampled_from(groups), inner).map(lambda pair: f"{pair[0]}{pair[1]})"),
        )

    return st.recursive(atoms, extend, max_leaves=8)


def meaning(pattern: str, flags: int) -> Any:
    """The compiled pattern that says what a pattern means; None if its reader is not installed.

    That is `re`; where `re` warns of sets in classes, or refuses the pattern, the package `regex`. Raises `re.error`,
    its own or that of `re`, if neither reads it.
    """
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            re.purge()  # a pattern that is remembered is not told of again
            compiled = re.compile(pattern, flags)
        fault, has_sets = None, any(issubclass(each.category, FutureWarning) for each in told)
        if not has_sets and not POSIX.search(pattern):
            return compiled
    except re.error as error:
        fault, has_sets = error, False
    if importlib.util.find_spec("regex") is None:
        return None
    regex = importlib.import_module("regex")
    own = sum(getattr(regex, letter) for letter in "IMSXA" if flags & getattr(re, letter))
    # V1 also where `re` refuses, as in `[\\w--a]`; what V1 cannot read has no sets, but maybe a class of POSIX
    plain = [regex.V0] if fault or POSIX.search(pattern) else []
    for version in [regex.V1] * (has_sets or SETS.search(pattern) is not None) + plain:
        with contextlib.suppress(regex.error), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return regex.compile(pattern, own | version)
    if fault is not None:
        raise fault
    return compiled


def compare(pattern: str, flags: int, refused: Counter[str]) -> Any:
    """Members up to four characters, over the alphabet, equal those of `meaning`. Refusals are counted by message.

    Returns the compiled pattern if both read it, else None.
    """
    try:
        compiled = meaning(pattern, flags)
    except re.error:
        with pytest.raises(RegexError):
            parse_python(pattern, flags=flags)
        refused["not a pattern"] += 1
        return None
    try:
        node = parse_python(pattern, flags=flags)
    except (RegexError, LimitError) as fault:
        refused[fault.message] += 1
        return None
    if compiled is None:
        return None
    refused["none"] += 1
    assert members(node, ALPHABET, 4) == {text for text in TEXTS if compiled.fullmatch(text)}
    return compiled


flag_sets = st.sampled_from([0, re.MULTILINE, re.DOTALL, re.IGNORECASE, re.ASCII | re.IGNORECASE | re.MULTILINE])
