"""The warm-up of an engine: its own texts are members, and what options refuse is left out."""

import numpy as np
import pytest

import constrain
from constrain.engines.requests.constraints import constraint_of
from constrain.engines.requests.options import EngineOptions
from constrain.engines.requests.warm import WARM, Warm, read_warm, warm_up
from constrain.kernels.records.arena import HEADER
from constrain.masks.engine import TokenAutomaton


@pytest.mark.parametrize("warm", WARM, ids=lambda warm: f"{warm.kind} {warm.text[:60]}")
def test_every_text_is_followed_to_its_end(warm: Warm) -> None:
    compiled = constrain.compile(constraint_of(warm.kind, warm.text, EngineOptions()), constrain.Vocabulary.of_bytes())
    assert warm.members
    for member in warm.members:
        assert compiled.matcher().advance_bytes(member.encode()), member


def test_a_first_request_finds_its_states() -> None:
    """A new schema of common parts: after the warm-up its masks visit less than half of the trie nodes."""
    schema = '{"properties": {"born": {"type": "string", "format": "date"}, "rank": {"type": "integer"}}}'
    text = b'{"born": "2020-02-29", "rank": 12}'

    def nodes(warm: bool) -> int:
        vocabulary = constrain.Vocabulary.of_bytes()
        if warm:
            warm_up(vocabulary, EngineOptions())
        automaton = TokenAutomaton.of(vocabulary)
        before = int(automaton.memory.A[HEADER.NODES_VISITED])
        matcher = constrain.compile(constraint_of("json", schema, EngineOptions()), vocabulary).matcher()
        row = np.zeros(vocabulary.words, np.uint32)
        for byte in text:
            matcher.fill_mask(row)
            assert matcher.advance(byte)
        return int(automaton.memory.A[HEADER.NODES_VISITED]) - before

    cold = nodes(warm=False)
    assert nodes(warm=True) < cold / 2


def test_what_limits_refuse_is_left_out() -> None:
    read_warm(EngineOptions(characters=1, seconds=1e-9, whitespace="compact"))
    warm_up(constrain.Vocabulary.of_bytes(), EngineOptions(characters=1, whitespace="compact"))


@pytest.mark.parametrize("options", [{"spelling": "loud"}, {"whitespace": "much"}, {"lexer": "quick"}])
def test_a_value_that_there_is_not_is_refused_at_the_start(options: dict[str, str]) -> None:
    with pytest.raises(constrain.ConstrainError, match=r"is not an option|lexer"):
        read_warm(EngineOptions(**options))  # type: ignore[arg-type]
