"""Bad input, as data: each row of tests/data/bad_input.toml is an error of this class with this message, word for word,
and leaves the matcher as it was."""

from typing import Any

import numpy as np
import pytest
from engine_cases import mask_of

import constrain
import vocabularies
from constrain import errors
from tables import table

TABLE = table("bad_input")["row"]


def matcher_at(text: str) -> constrain.Matcher:
    """A matcher of the tiny vocabulary in the middle of a text."""
    matcher = constrain.compile(constrain.regex(r"(true|[a-c]{2,4})+"), vocabularies.tiny()).matcher()
    assert matcher.advance_bytes(text.encode())
    return matcher


def read_only(row: np.ndarray) -> np.ndarray:
    row.flags.writeable = False
    return row


@pytest.mark.parametrize("row", TABLE, ids=[row["name"] for row in TABLE])
def test_bad_input(row):
    m, other = matcher_at("abctr"), matcher_at("ab")
    stranger = constrain.compile(constrain.regex("a+"), constrain.Vocabulary([b"a", None], [1])).matcher()
    names: dict[str, Any] = {"constrain": constrain, "np": np, "m": m, "other": other, "stranger": stranger}
    names |= {"vocabulary": vocabularies.tiny(), "words": vocabularies.tiny().words, "read_only": read_only}
    before = [(each.state, each.text, mask_of(each), each.is_accepting()) for each in (m, other)]
    with pytest.raises(getattr(errors, row["error"])) as caught:
        eval(row["call"], names)
    assert type(caught.value).__name__ == row["error"]
    assert str(caught.value) == row["message"].strip("\n")
    assert [(each.state, each.text, mask_of(each), each.is_accepting()) for each in (m, other)] == before
    assert m.advance_bytes(b"ue")
    assert m.is_accepting()


REFUSED = [
    "m.advance(120)", "m.advance(97)", "m.advance(269)", "m.advance(270)", 'm.advance_bytes(b"ux")',
    'm.advance_bytes(b"\\xff")',
]  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_forbidden_is_no_error(call):
    """A token or text that is not allowed, a special token, an end too soon: False, and nothing has changed."""
    m = matcher_at("abctr")
    before = m.state, m.text, mask_of(m)
    assert eval(call, {"m": m}) is False
    assert (m.state, m.text, mask_of(m)) == before
    assert m.advance_bytes(b"ue")
