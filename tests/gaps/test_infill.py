"""Several holes filled by the reference model: members, in order, and what ends an attempt."""

from __future__ import annotations

import pytest

import constrain
from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.masks.derived.members import is_member

LISTS = constrain.grammar('start: "[" [start ("," start)*] "]" | /[0-9]+/')
TEXT = "[1,_,[2,_],[_,3]]"
HOLES = [(at, at + 1) for at, letter in enumerate(TEXT) if letter == "_"]


@pytest.fixture(scope="module")
def ref():
    return constrain.reference.load()


def test_every_hole_is_filled(ref):
    """The fixed text stays where it is, and the whole is a member, whatever the seed."""
    for seed in range(2):
        filled = constrain.infill(ref, LISTS, text=TEXT, holes=HOLES, max_tokens=24, seed=seed)
        assert filled.finish_reason == "stop" and is_member(LISTS, filled.text)
        one, two, three = filled.fillings
        assert filled.text == f"[1,{one},[2,{two}],[{three},3]]"


def test_the_prompt_sees_what_comes_later(ref):
    seen = []

    def prompt(before: str, after: str) -> str:
        seen.append((before, after))
        return after + before

    filled = constrain.infill(ref, LISTS, text="[_,[_]]", holes=[(1, 2), (4, 5)], max_tokens=24, seed=1, prompt=prompt)
    assert seen[-2:] == [("[", ",[]]"), (f"[{filled.fillings[0]},[", "]]")]


def test_refused(ref):
    with pytest.raises(ConstrainError, match="attempts is a number from 1"):
        constrain.infill(ref, LISTS, text=TEXT, holes=HOLES, attempts=0)
    with pytest.raises(ConstrainError, match="holes 0 and 1 touch"):
        constrain.infill(ref, LISTS, text="__", holes=[(0, 1), (1, 2)])
    with pytest.raises(ConstrainError, match="too small"):
        constrain.infill(ref, LISTS, text="[[[[[[_", holes=[(6, 7)], max_tokens=2)
    with pytest.raises(UnsatisfiableError, match="none contains"):
        constrain.infill(ref, LISTS, text="[_]x,[_]", holes=[(1, 2), (6, 7)])
