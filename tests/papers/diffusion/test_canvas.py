"""Canvases against enumeration of all their fillings: masks, joint checks, EOS, and what is refused."""

import random
from itertools import combinations, product

import pytest
from naive_gaps import grammar_of, members, random_rules

from constrain.errors import ConstrainError, LimitError, UnsatisfiableError
from constrain.gaps import chart
from constrain.gaps.solution import GapLanguage
from constrain.languages.cfg.rules import Grammar
from constrain.languages.grammar_text.text import grammar
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.papers.diffusion.canvas import Canvas
from small_grammars import JSON

TOKENS = [b"a", b"b", b"ab", b"ba", None, None]  # token 4 is special, token 5 is EOS
VOCABULARY = Vocabulary(TOKENS, [5])
EOS = 5


def texts_of(tokens: tuple[int | None, ...]) -> list[tuple[int, ...]]:
    """All fillings of a canvas: after an EOS there is nothing else."""
    choices = [range(4) if token is None else [token] for token in tokens]
    with_eos = [[*choice, EOS] if token is None else choice for choice, token in zip(choices, tokens, strict=True)]
    return [
        filling
        for filling in product(*with_eos)
        if EOS not in filling or all(token == EOS for token in filling[filling.index(EOS) :])
    ]


def text(filling: tuple[int, ...]) -> str:
    return b"".join(TOKENS[token] or b"" for token in filling).decode()


@pytest.mark.parametrize("seed", range(60))
def test_every_filling(seed):
    """Masks at all open positions, joint checks of two and three tokens, and the largest set."""
    rng = random.Random(seed)
    rules = random_rules(rng)
    language = GapLanguage(grammar_of(rules))
    known = members(rules, 8)
    tokens = tuple(rng.choice([None, None, None, 0, 1, 2, 3]) for _ in range(rng.randint(1, 4)))
    fitting = [filling for filling in texts_of(tokens) if text(filling) in known]
    try:
        canvas = Canvas(language, VOCABULARY, tokens)
    except UnsatisfiableError:
        assert not fitting, (rules, tokens)
        return
    assert fitting, (rules, tokens)
    for position in canvas.open:
        allowed = {token for token, is_allowed in enumerate(canvas.mask(position)) if is_allowed}
        assert allowed == {filling[position] for filling in fitting}, (rules, tokens, position)
    for positions in combinations(canvas.open, min(2, len(canvas.open))):
        for chosen in product([0, 1, 2, 3, EOS], repeat=len(positions)):
            pairs = dict(zip(positions, chosen, strict=True))
            wanted = any(all(filling[p] == token for p, token in pairs.items()) for filling in fitting)
            assert canvas.allows(pairs) == wanted, (rules, tokens, pairs)
    proposals = [(position, rng.choice([0, 1, 2, 3, EOS])) for position in canvas.open]
    taken: dict[int, int] = {}
    for position, token in proposals:  # one by one
        if any(all(f[p] == t for p, t in {**taken, position: token}.items()) for f in fitting):
            taken[position] = token
    assert canvas.largest(proposals) == taken


def test_the_number_of_tokens_counts():
    """Between two quotes are as many tokens as there are open positions, no more and no fewer."""
    vocabulary = Vocabulary([b'"', b"a", b"aa", None], [3])
    language = GapLanguage(grammar(r'start: /"a{5}"/').to_grammar())
    canvas = Canvas(language, vocabulary, [0, None, None, None, 0])
    assert [canvas.mask(position).nonzero()[0].tolist() for position in canvas.open] == [[1, 2]] * 3
    canvas.set({1: 1})
    assert canvas.mask(2).nonzero()[0].tolist() == [2]
    with pytest.raises(UnsatisfiableError, match="no text fits a canvas of 4 tokens with 2 open"):
        Canvas(language, vocabulary, [0, None, None, 0])


@pytest.mark.parametrize(
    ("tokens", "says"),
    [
        ([0, 9], "position 1 has 9, which is no token"),
        ([0, 4], "position 1 has the special token"),
        ([0, EOS, 1], "position 2 has a token, but the text ended with an EOS at position 1"),
        ([0, None, 3, None, 0], "'ba' cannot stand at position 2"),
    ],
)
def test_refused(tokens, says):
    made: Grammar = grammar("start: /a+/").to_grammar()
    with pytest.raises(ConstrainError) as raised:
        Canvas(GapLanguage(made), VOCABULARY, tokens)
    assert says in raised.value.message


def test_fixed_text_does_not_count_towards_the_limit(monkeypatch):
    """The rows of a chart that have bits are limited: a long text with few open positions has few."""
    language, bytes_ = GapLanguage(grammar(JSON).to_grammar()), Vocabulary.of_bytes()
    text = b"[" + b"1, " * 150 + b"1]"
    tokens: list[int | None] = list(text)
    tokens[100] = tokens[300] = None
    rows = Canvas(language, bytes_, tokens)._solved.chart
    monkeypatch.setattr(chart, "MOST_BYTES", rows.bytes // 4)
    canvas = Canvas(language, bytes_, tokens)
    assert canvas.allows({100: text[100], 300: text[300]})
    with pytest.raises(LimitError, match="places where a lexeme may end"):
        Canvas(language, bytes_, [None] * len(text))
    monkeypatch.setattr(chart, "MOST_ADDRESSES", rows.bytes - 1)
    with pytest.raises(LimitError, match="places where a lexeme may end"):
        Canvas(language, bytes_, tokens)
