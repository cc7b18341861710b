"""Canvases that know a whole text: every answer has a member behind it, and the text is one at the end."""

import random
import re
from itertools import product

import pytest
from naive_gaps import grammar_of, members, random_rules
from toy_diffusion import Adversary, characters

import constrain
from constrain.errors import GrammarError, LimitError, UnsatisfiableError
from constrain.gaps.projection import gap_language
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.base import Constraint
from constrain.languages.grammar_text.text import grammar
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.papers.diffusion import denoise
from constrain.papers.diffusion.positions import Positions
from constrain.papers.diffusion.walks import Walks
from constrain.papers.diffusion.witnessed import WitnessedCanvas

TOKENS = [b"a", b"b", b"ab", b"ba", None, None]  # token 4 is special, token 5 is EOS
VOCABULARY = Vocabulary(TOKENS, [5])
EOS = 5
BYTES = Vocabulary.of_bytes()
C = "int f(int a) { return a ? a : -1; }"


class OfGrammar(Constraint):
    """A constraint of a grammar at hand."""

    def __init__(self, made: Grammar) -> None:
        self.made = made

    @property
    def made_of(self) -> tuple[object, ...]:
        return (self.made,)

    def _build(self) -> Grammar:
        return self.made


def spelled(filling: list[int]) -> str:
    end = filling.index(EOS) if EOS in filling else len(filling)
    assert all(token == EOS for token in filling[end:])
    return b"".join(TOKENS[token] or b"" for token in filling[:end]).decode()


@pytest.mark.parametrize("seed", range(40))
def test_every_answer_has_a_member(seed):
    """Random grammars: what is allowed is in some member, by enumeration; with all tokens candidates, the converse."""
    rng = random.Random(seed)
    rules = random_rules(rng)
    known = members(rules, 8)
    tokens = tuple(rng.choice([None, None, None, 0, 1, 2, 3]) for _ in range(rng.randint(1, 4)))
    every = [
        list(filling)
        for filling in product(*([0, 1, 2, 3, EOS] if token is None else [token] for token in tokens))
        if EOS not in filling or all(token == EOS for token in filling[filling.index(EOS) :])
    ]
    fitting = [filling for filling in every if spelled(filling) in known]
    try:
        canvas = WitnessedCanvas(OfGrammar(grammar_of(rules)), VOCABULARY, tokens)
    except (UnsatisfiableError, LimitError):
        assert not fitting, (rules, tokens)
        return
    assert fitting, (rules, tokens)
    while canvas.open:
        assert spelled(canvas.filling) in known
        for position, token in product(canvas.open, [0, 1, 2, 3, EOS]):
            wanted = any(filling[position] == token for filling in fitting)
            assert canvas.allows({position: token}) == wanted, (rules, tokens, position, token)
        position = rng.choice(canvas.open)
        token = rng.choice([token for token in [0, 1, 2, 3, EOS] if canvas.allows({position: token})])
        canvas.set({position: token})
        fitting = [filling for filling in fitting if filling[position] == token]
    assert spelled([token for token in canvas.tokens if token is not None]) in known


@pytest.mark.parametrize("seed", range(60))
def test_a_walk_is_found(seed):
    """Random grammars, tokens of several lexemes, a beam that leaves nothing out: a walk is found if a text is."""
    rng = random.Random(seed)
    rules, words = random_rules(rng), ["aab", "ba", "bb", "b"]
    vocabulary = Vocabulary([*(word.encode() for word in words), None], [4])
    tokens = [rng.choice([None, None, 0, 1, 2, 3]) for _ in range(rng.randint(1, 3))]
    made = grammar_of(rules)
    canvas_ends = Positions(vocabulary, tokens).ends({})
    texts = {
        "".join(words[token] for token in filling[:end])
        for filling in product(*([0, 1, 2, 3] if token is None else [token] for token in tokens))
        for end in canvas_ends
    }
    try:
        walks = Walks(OfGrammar(made), gap_language(made), vocabulary)
    except UnsatisfiableError:
        assert not members(rules, 9)
        return
    found, may_stand = walks.walk(tokens, canvas_ends, width=100_000)
    assert (found is not None) == bool(texts & members(rules, 9)), (rules, tokens)
    if found is not None:
        assert "".join(words[token] for token in found) in texts & members(rules, 9)
        assert all(given in (None, token) for given, token in zip(tokens, found, strict=False))
        assert all(found[place] in may for place, may in may_stand.items() if place < len(found))


CALLS = 'start: (call ";")+\ncall: NAME "(" (arg ("," arg)*)? ")"\narg: call | NAME | STRING\n'
CALLS += 'NAME: /[a-z]+/\nSTRING: /"[^"]*"/\n'


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("f ( x); ,", "f ( ? f ( ?"),
        ('f(" s ",x); )', 'f(" s ?'),
        ("f (x,g( y)); z", "f ? ? f ? ?"),
        ('f ("a ",b);g( ); x', '? ("a ? ?'),
    ],
)
def test_tokens_of_several_words_and_signs(words, given):
    """Open positions need tokens that are no whole lexemes, so a chart of candidates has no filling."""
    tokens = words.split()
    vocabulary = Vocabulary([*(token.encode() for token in tokens), None], [len(tokens)])
    calls = grammar(CALLS)
    positions = [range(len(tokens)) if token == "?" else [tokens.index(token)] for token in given.split()]
    assert any(calls.accepts(vocabulary.to_bytes(filling)) for filling in product(*positions))
    canvas = WitnessedCanvas(calls, vocabulary, [None if len(each) > 1 else each[0] for each in positions])
    text = [token for token in canvas.filling if token != len(tokens)]
    assert calls.accepts(vocabulary.to_bytes(text))
    assert all(token in each for token, each in zip(text, positions, strict=False))


@pytest.mark.parametrize("seed", range(3))
def test_a_program_is_replayed(seed):
    """Each byte of a text of C, in random order, from an open canvas that knows nothing of it."""
    canvas = WitnessedCanvas(constrain.collection.load("c"), BYTES, [None] * len(C))
    order = random.Random(seed).sample(range(len(C)), len(C))
    for position in order:
        if canvas.tokens[position] is None:
            assert canvas.allows({position: ord(C[position])}), (seed, position, canvas.tokens)
            canvas.set({position: ord(C[position])})
    assert canvas.text == C.encode()


def test_maximal_munch_is_kept():
    """A filling that the dynamic lexer would take, and the greedy one not, is refused."""
    made = grammar('start: "a" "+" "b" | "a" "++" "+" "b"\n', lexer="greedy")
    vocabulary = characters("ab+")
    canvas = WitnessedCanvas(made, vocabulary, [0, None, None, None, 1])
    assert not canvas.allows({1: 3})  # EOS, and b behind it
    canvas.set({2: 2})
    assert [canvas.filling[i] for i in range(5)] == [0, 2, 2, 2, 1]


def test_a_layout_is_denoised():
    """Python, in columns that the set text shows; exact masks are refused there, and are not the default."""
    vocabulary = characters("abefilnprstux :\n=1;#")
    text = "if a:\n  b=1\nx=1\n"
    tokens = [next(i for i, t in enumerate(vocabulary.tokens) if t == letter.encode()) for letter in text]
    given = [None if place in (4, 5, 8, 11, 14) else token for place, token in enumerate(tokens)]
    python = constrain.collection.load("python")
    model = Adversary(vocabulary, lambda token: float(token in (b"=", b" ")), seed=1)
    out = denoise(model, python, tokens=given)
    assert not out.exact and out.fault is None and python.accepts(out.text)
    with pytest.raises(GrammarError):
        denoise(model, python, tokens=given, exact=True)


def test_without_exact_masks():
    """Without exact masks a text is found all the same, and is the same, since every byte is a candidate."""
    arithmetic = constrain.collection.load("arithmetic")
    vocabulary = characters("0123456789+-*/().")
    model = Adversary(vocabulary, lambda token: float(token in (b")", b"*")), seed=2)
    exact = denoise(model, arithmetic, length=6, seed=1)
    assert exact.exact
    out = denoise(model, arithmetic, length=6, exact=False, seed=1)
    assert not out.exact and arithmetic.accepts(out.text)
    assert out.tokens == exact.tokens


def test_what_contradicts_is_named():
    with pytest.raises(UnsatisfiableError, match="cannot stand at position 2"):
        WitnessedCanvas(constrain.collection.load("json"), BYTES, [91, 93, 125, None])
    with pytest.raises(LimitError, match="no filling was found"):
        WitnessedCanvas(constrain.regex("aaaaaaaa"), BYTES, [97, None, None])


def test_a_known_filling_is_taken():
    text = b'{"a": [1, 2]}'
    tokens = [None if place % 3 else byte for place, byte in enumerate(text)]
    canvas = WitnessedCanvas(constrain.collection.load("json"), BYTES, tokens, filling=list(text))
    assert canvas.filling == list(text)


SUMS = """/* Sums of runs: takes (at most) n numbers of a,
   the last "run" may be short [see last(a, n)] */
int sums(int *a, int n) {
    int runs[8], at = 0;
    for (int i = 0; i < n; i++) {
        runs[(i + 1) % 8] = a[i] - '(';
        at = max(runs[at], b[i]); // one of [8
    }
    return at;
}
"""
PARTS = re.compile(r"/\*|\*/|//| ?\w+|\n *| ?[^\w\s]|\s")
SIGNS = '( ) [ ] { } ; , = * \' " (" [\' =" ={ (( [[ ){ ]; ); /* // # & - <'.split()
SIGNS += [" (", " [", " {", " ="]


@pytest.fixture(scope="module")
def sums():
    """The walks of C and a vocabulary of a text's parts, signs, and signs with words behind them; and the parts."""
    parts = PARTS.findall(SUMS)
    assert "".join(parts) == SUMS
    mixed = [sign + word for sign in SIGNS for word in ("", "a", "1", " if", " int", " return", "\n")]
    words = list(dict.fromkeys([*parts, "a", "1", " if", " int", " return", "\n", *mixed]))
    vocabulary = Vocabulary([*(word.encode() for word in words), None], [len(words)])
    c = constrain.collection.folder("c").constraint()
    return c, Walks(c, gap_language(c.laid_out_like([SUMS]).as_dynamic()), vocabulary), parts, words


@pytest.mark.parametrize("seed", [5, 6, 11, 36])
def test_a_narrow_walk_through_code(sums, seed):
    """A beam of eight states, where comments, strings and brackets may begin at each of 24 open positions."""
    c, walks, parts, words = sums
    opened = random.Random(seed).sample(range(len(parts)), 24)
    tokens = [None if position in opened else words.index(part) for position, part in enumerate(parts)]
    found, _ = walks.walk(tokens, range(len(tokens), len(tokens) + 1), width=8)
    assert found is not None
    assert c.accepts("".join(words[token] for token in found))
