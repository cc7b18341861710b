"""States to which all tokens lead, found level by level, against reading each token, and against the engine's masks."""

import random

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.kernels.parser import advance
from constrain.kernels.records import arena
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.completion import levels
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.completion.levels import Levels, TrieLevelWalk
from constrain.masks.engine import TokenAutomaton, compile_bytewise
from small_grammars import JSON, STATEMENTS

SOURCES = [
    constrain.grammar(JSON),
    constrain.grammar(STATEMENTS),
    constrain.grammar(STATEMENTS, lexer="greedy"),  # open pairs, and classes of bytes that depend on them
    constrain.json_schema({"type": "array", "items": {"enum": ["é→", "true", 12]}, "uniqueItems": True}),
]
TEXTS = ["", '{"', '{"é', "[1", "if ab =", "if a", "let i", '["é→",', "[12, t"]


def one_by_one(compiled, configuration: int) -> list[int]:
    """The configuration after each token."""
    automaton, vocabulary = compiled.automaton, compiled.vocabulary
    found = []
    for token in vocabulary.tokens:
        words = np.frombuffer(token or b"", np.uint8).astype(np.int32)
        after = automaton.memory.call(advance.advance_bytes, configuration, words) if token else arena.NONE
        found.append(after & (advance.WATCH - 1))
    return found


def check(compiled, walk: TrieLevelWalk, configuration: int) -> None:
    numbers = walk.after(configuration)
    assert [walk.configurations[number] for number in numbers] == one_by_one(compiled, configuration)


@pytest.mark.parametrize("constraint", SOURCES, ids=lambda constraint: repr(constraint)[:30])
def test_every_token(constraint):
    """The tiny vocabulary: bytes, longer tokens, two tokens of the same bytes, special ones."""
    compiled = compile_bytewise(constraint, vocabularies.tiny(), automaton=TokenAutomaton(vocabularies.tiny()))
    walk = TrieLevelWalk(compiled.automaton, compiled.vocabulary)
    for text in TEXTS:
        matcher = compiled.matcher()
        if matcher.advance_bytes(text.encode()):
            check(compiled, walk, matcher._states[-1])


def test_a_real_vocabulary():
    vocabulary = vocabularies.sentencepiece32k()
    compiled = compile_bytewise(SOURCES[2], vocabulary)
    matcher = compiled.matcher()
    assert matcher.advance_bytes(b"if ab")
    check(compiled, TrieLevelWalk(compiled.automaton, vocabulary), matcher._states[-1])


def test_levels_spell_the_tokens():
    """Read from the first level down, the nodes spell every token once."""
    vocabulary = Vocabulary([b"a", b"ab", b"abc", b"b", b"bc", b"ab", b"\xff", None, b"ab"], eos_ids=[7])
    table = Levels.of(vocabulary)
    spelled = {}
    stack = [(node, b"") for node in table.first.tolist()]
    while stack:
        node, before = stack.pop()
        text = before + bytes([int(table.byte[node])])
        if table.token[node] >= 0:
            spelled[int(table.token[node])] = text
        first = int(table.child[node])
        stack += [(first + i, text) for i in range(int(table.children[node]))]
    assert spelled == {i: vocabulary.tokens[i] for i in (0, 1, 2, 3, 4, 6)}
    assert table.duplicates.tolist() == [[5, 1], [8, 1]]


def test_the_table_is_bounded_and_follows_the_automaton(monkeypatch):
    """With little room, and after the automaton forgot everything, the answers are the same."""
    monkeypatch.setattr(levels, "MOST", 20)
    compiled = compile_bytewise(SOURCES[1], vocabularies.tiny(), automaton=TokenAutomaton(vocabularies.tiny()))
    walk = TrieLevelWalk(compiled.automaton, compiled.vocabulary)
    for text in ["if ab", "if (a+", "let a=1", "let a=1;"]:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(text.encode())
        check(compiled, walk, matcher._states[-1])
    compiled.automaton.flush()
    matcher = compiled.matcher()
    assert matcher.advance_bytes(b"if ab")
    check(compiled, walk, matcher._states[-1])


@pytest.mark.parametrize(
    "constraint", [*SOURCES, constrain.json_schema(True)], ids=lambda constraint: repr(constraint)[:30]
)
def test_a_large_budget_changes_no_mask(constraint):
    """Guards, end of text and checks are seen to as in the engine's own masks."""
    vocabulary = vocabularies.tiny()
    compiled = compile_bytewise(constraint, vocabulary)
    limited = LengthBudget(compiled).matcher(most=1000)
    rng = random.Random(3)
    rows = np.zeros((2, vocabulary.words), np.uint32)
    for _ in range(60):
        limited.fill_mask(rows[0])
        limited.inner.fill_mask(rows[1])
        assert (rows[0] == rows[1]).all(), limited.inner.text
        allowed = np.flatnonzero(np.unpackbits(rows[0].view(np.uint8), bitorder="little"))
        if limited.is_finished() or not len(allowed):
            break
        assert limited.advance(int(rng.choice(allowed.tolist())))
