"""Tokens in languages (`constrain.token`): masks and steps against all sequences of tokens, and what surrounds them.

The oracle knows no bytes of marks. A token with text may be read as its text, or as one symbol; a special token only as
a symbol. With a private character for each symbol, a sequence of tokens is a few texts, and `re` says whether one is
valid.
"""

import itertools
import pickle
import re

import numpy as np
import pytest

import constrain
from constrain import Vocabulary
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.engine.explain import explain

A, B, AB, A2, FF, S, R, PAD, EOS = range(9)
TEXTS = [b"a", b"b", b"ab", b"a", b"\xff", None, None, None, None]
VOCABULARY = Vocabulary(TEXTS, eos_ids=[EOS], names={"<s>": S, "<r>": R, "</>": EOS, "ab": AB})
IDS = (A, B, AB, FF, S, R, PAD)
PREFIXES, MEMBERS = 3, 5  # tokens of the texts that are tried, and of the longest members that decide what is viable

token, seq, alt, many = constrain.token, constrain.seq, constrain.alt, constrain.many


def symbols(*ids: int) -> str:
    """A pattern of one symbol."""
    return "[" + "".join(chr(0xE000 + i) for i in ids) + "]"


ANY = symbols(A, B, AB, FF, S, R)  # what `but=()` means: every token but padding and the end of the text
CASES = {
    "a special token alone": (token("<s>"), symbols(S)),
    "by its id": (token(S), symbols(S)),
    "a range": (token(range(S, R + 1)), symbols(S, R)),
    "text around one": (seq("a", token("<s>"), "b"), f"a{symbols(S)}b"),
    "one of two": (seq(token("<s>", "<r>"), "a"), f"{symbols(S, R)}a"),
    "lists": (many("ab", separator=token("<s>"), low=1, high=2), f"ab({symbols(S)}ab)?"),
    "optional": (seq("a", constrain.optional(token("<r>")), "b"), f"a{symbols(R)}?b"),
    "a token with text, by its name": (seq(token("ab"), "b"), f"{symbols(AB)}b"),
    "a token with text, by its bytes": (seq(token("b"), "a"), f"{symbols(B)}a"),
    "equal bytes are one token": (token(A2), symbols(A)),
    "any other": (seq(token(but=["<s>", "ab"]), token("<s>")), f"{symbols(A, B, FF, R)}{symbols(S)}"),
    "any": (many(token(but=()), high=2), f"{ANY}{{0,2}}"),
    "text or token": (
        alt("abab", seq(token("a"), token(but=["b"]), "b")),
        f"abab|{symbols(A)}{symbols(A, AB, FF, S, R)}b",
    ),
    "in a Lark text": (constrain.grammar('start: "a" <s> B | <[4-5]>\nB: /b+/'), f"a{symbols(S)}b+|{symbols(FF, S)}"),
    "rules that nest": (
        constrain.grammar('start: <s> inner <r>\ninner: "a" | <r> "b" <s>'),
        f"{symbols(S)}(a|{symbols(R)}b{symbols(S)}){symbols(R)}",
    ),
}  # fmt: skip


def readings(tokens: tuple[int, ...]) -> list[str]:
    """The texts, with private characters for symbols, that a sequence of tokens may be read as."""
    ways = []
    for one in tokens:
        text = TEXTS[one]
        as_text = [] if text is None or b"\xff" in text else [text.decode()]
        ways.append([*as_text, *([] if one == PAD else [chr(0xE000 + one)])])
    return ["".join(way) for way in itertools.product(*ways)]


def members(pattern: str) -> set[tuple[int, ...]]:
    match = re.compile(pattern).fullmatch
    sequences = (tokens for n in range(MEMBERS + 1) for tokens in itertools.product(IDS, repeat=n))
    return {tokens for tokens in sequences if any(map(match, readings(tokens)))}


def allowed(mask: np.ndarray) -> set[int]:
    return {i for i in range(VOCABULARY.size) if mask[i >> 5] >> (i & 31) & 1}


@pytest.mark.parametrize("name", CASES)
def test_masks_and_steps_are_those_of_the_definition(name: str) -> None:
    constraint, pattern = CASES[name]
    inside = members(pattern)
    viable = {tokens[:n] for tokens in inside for n in range(len(tokens) + 1)}
    compiled = constrain.compile(constraint, VOCABULARY)
    assert viable >= {()}
    for tokens in (t for n in range(PREFIXES + 1) for t in itertools.product(IDS, repeat=n)):
        matcher = compiled.matcher()
        read = matcher.advance_tokens(tokens)
        assert read == max(n for n in range(len(tokens) + 1) if tokens[:n] in viable)
        if read < len(tokens):
            continue
        following = {one for one in IDS if (*tokens, one) in viable} | ({EOS} if tokens in inside else set())
        following |= {A2} if A in following else set()
        assert allowed(matcher.mask()) == following == {i for i in range(VOCABULARY.size) if matcher.allows(i)}
        assert matcher.is_accepting() == (tokens in inside)
        assert matcher.forced_tokens()[:1] == ([*following] if len(following) == 1 and EOS not in following else [])


@pytest.mark.parametrize("name", ["text around one", "lists", "any other", "text or token", "rules that nest"])
def test_batches_drafts_copies_and_pickles_agree(name: str) -> None:
    compiled = constrain.compile(CASES[name][0], VOCABULARY)
    starts = [compiled.matcher() for _ in IDS]
    taken = constrain.advance_all(starts, list(IDS))
    rows = np.zeros((len(IDS) + 1, VOCABULARY.words), np.uint32)
    constrain.fill_masks(starts, rows[1:])
    fork, back = compiled.matcher(), compiled.matcher()
    drafted = np.zeros_like(rows)
    assert constrain.fill_draft_masks(fork, list(IDS), drafted, parents=[-1] * len(IDS)) == int(taken.sum())
    for i, one in enumerate(IDS):
        matcher = compiled.matcher()
        assert matcher.advance(one) == taken[i] == back.fork().advance(one)
        assert (rows[1 + i] == matcher.mask()).all()
        assert (drafted[1 + i] == (matcher.mask() if taken[i] else 0)).all()
        again = pickle.loads(pickle.dumps(matcher))
        assert (again.mask() == matcher.mask()).all() and again.text == matcher.text
        if taken[i]:
            matcher.rollback(1)
        assert (matcher.mask() == back.mask()).all()


def test_states_survive_that_the_automaton_forgets() -> None:
    for tokens in ("special", "every"):
        automaton = constrain.TokenAutomaton(VOCABULARY, tokens=tokens)
        matcher = constrain.compile(CASES["text around one"][0], VOCABULARY, automaton=automaton).matcher()
        assert matcher.advance_tokens([A, S]) == 2
        with automaton.memory.lock:
            automaton.flush()
        assert allowed(matcher.mask()) == {B}


def test_a_special_token_is_no_text_and_text_is_no_special_token() -> None:
    vocabulary = Vocabulary.of_bytes("<x>")
    compiled = constrain.compile(alt(seq(token("<x>"), "1"), "<x>2"), vocabulary)
    matcher = compiled.matcher()
    assert not matcher.advance_bytes(b"\xff\x00\x02\x01")  # the bytes of its mark
    assert not matcher.advance(255)
    assert matcher.forced_bytes() == b""
    assert matcher.advance(257) and matcher.forced_bytes() == b"1" and not matcher.advance(ord("2"))
    assert matcher.text == b""
    matcher = compiled.matcher()
    assert matcher.advance_bytes(b"<x>") and matcher.forced_bytes() == b"2" and matcher.text == b"<x>"


def test_other_constraints_keep_their_automaton_and_refuse_special_tokens() -> None:
    plain = constrain.compile(constrain.regex("(?s:.*)"), VOCABULARY)
    assert plain.automaton is constrain.compile(constrain.choices(["a"]), VOCABULARY).automaton
    assert allowed(plain.matcher().mask()) == {A, B, AB, A2, EOS}
    assert constrain.compile(token("<s>"), VOCABULARY).automaton is not plain.automaton
    nothing = seq(constrain.regex("(?s:.*)"), token("<s>"))
    assert allowed(constrain.compile(nothing, VOCABULARY).matcher().mask()) == {A, B, AB, A2, S}


def test_names_are_kept_shown_and_pickled() -> None:
    assert VOCABULARY.to_bytes([A, S, B, EOS], names=True) == b"a<s>b</>" and VOCABULARY.to_bytes([A, S]) == b"a"
    again = pickle.loads(pickle.dumps(VOCABULARY))
    assert again.names == VOCABULARY.names and again.key == VOCABULARY.key
    assert VOCABULARY.key != Vocabulary(TEXTS, eos_ids=[EOS]).key
    matcher = constrain.compile(seq("a", token("<s>", R), "b"), VOCABULARY).matcher()
    matcher.advance(A)
    assert explain(matcher).begin == ["<[<s>,6]>"]
    assert repr(token("<s>", range(3, 5))) == "token('<s>', range(3, 5))"


def test_a_budget_counts_a_special_token_as_one() -> None:
    for constraint, shortest in ((CASES["lists"][0], 1), (seq(token("<s>"), token(but=()), token("<r>")), 3)):
        budget = LengthBudget(constrain.compile(constraint, VOCABULARY))
        assert budget.matcher(most=shortest + 1).needs() == shortest + 1
        with pytest.raises(constrain.ConstrainError, match=f"takes {shortest + 1}, EOS counted"):
            budget.matcher(most=shortest)


def test_the_finished_text_is_checked_without_special_tokens() -> None:
    unique = constrain.json_schema({"type": "array", "uniqueItems": True, "items": {"type": "integer"}})
    vocabulary = Vocabulary.of_bytes("<x>")
    compiled = constrain.compile(many(seq(token("<x>"), unique), low=1), vocabulary)
    for text, member in (([257, *b"[1,2]", 257, *b"[1]"], True), ([257, *b"[1]", 257, *b"[1,1]"], False)):
        matcher = compiled.matcher()
        assert matcher.advance_tokens(text) == len(text) and matcher.is_accepting() == member


FAULTS = [
    (lambda: constrain.compile(seq("a", token("<q>")), VOCABULARY), "no token '<q>'", "<q> in seq("),
    (lambda: constrain.compile(token("</>"), VOCABULARY), "ends the text", "</> in token("),
    (lambda: constrain.compile(token(range(4, 20)), VOCABULARY), "id 19 is outside", "<[4-19]> in"),
    (lambda: constrain.compile(constrain.grammar("start: <|q|>"), VOCABULARY), "no token '<|q|>'", "<|q|> in grammar("),
    (lambda: constrain.grammar("start: <[5-3]>"), "'5-3' is no token id", "line 1, column 8"),
    (lambda: token(), "token needs tokens", None),
    (lambda: token("x", but=["y"]), "token needs tokens", None),
    (lambda: token(-1), "a name, an id or a range of ids, not -1", None),
    (lambda: token(range(0, 9, 2)), "a range of ids, not range", None),
    (lambda: token("<s>") & constrain.regex("a"), "cannot be intersected", None),
    (lambda: constrain.between(token("<s>"), prefix="a"), "cannot be cut", None),
    (
        lambda: constrain.compile(constrain.grammar("start: <[^5]>", lexer="greedy"), VOCABULARY),
        "cannot stand under lexer='greedy'",
        "grammar(",
    ),
    (
        lambda: constrain.compile(token("<s>"), VOCABULARY, automaton=constrain.TokenAutomaton(VOCABULARY)),
        "does not know the tokens",
        "token('<s>')",
    ),
    (lambda: Vocabulary([b"a", None], [1], names={"<x>": 2}), "'<x>' has the id 2", None),
]


@pytest.mark.parametrize(("make", "message", "place"), FAULTS)
def test_bad_input_is_a_located_error(make: object, message: str, place: str | None) -> None:
    with pytest.raises(constrain.ConstrainError, match=re.escape(message)) as caught:
        make()  # type: ignore[operator]
    assert place is None or place in str(caught.value.place)
    assert caught.value.fix
