"""Classes of tokens and neighbours of terminals, against plain recursion over tokens and derivations."""

import random
from itertools import pairwise, product

import numpy as np
import pytest
from naive_gaps import Rules, grammar_of, random_rules

from constrain import collection
from constrain.errors import LimitError
from constrain.gaps.kernels.lexemes import ACCEPTING, FRESH
from constrain.gaps.solution import GapLanguage
from constrain.languages.cfg.rules import Terminal
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.papers.diffusion import token_classes
from constrain.papers.diffusion.canvas import Canvas
from constrain.papers.diffusion.token_classes import TokenClasses

TEXTS = ["".join(each) for n in range(1, 4) for each in product("ab", repeat=n)]
VOCABULARY = Vocabulary([*map(str.encode, TEXTS), None], [len(TEXTS)])


def sentences(rules: Rules, rng: random.Random) -> list[tuple[str, ...]]:
    """Some of the sequences of terminals that the start symbol derives."""
    found = []
    for _ in range(300):
        form: list[str] = ["S"]
        for _ in range(12):
            at = next((i for i, symbol in enumerate(form) if symbol in rules), None)
            if at is None:
                found.append(tuple(form))
                break
            form[at : at + 1] = rng.choice(rules[form[at]])
    return found


@pytest.mark.parametrize("seed", range(40))
def test_neighbours(seed):
    """Whatever stands side by side in a derivation is a pair of neighbours; what begins a text may begin it."""
    rules = random_rules(random.Random(seed))
    language = GapLanguage(grammar_of(rules))
    names = {language.rules.originals[i].name: i for i in range(len(language.rules.languages))}
    end = len(names)
    for sentence in sentences(rules, random.Random(seed)):
        assert all(isinstance(language.rules.originals[names[name]], Terminal) for name in sentence)
        for one, two in pairwise(sentence):
            assert language.adjacency.follow[names[one]] >> names[two] & 1, (rules, sentence)
            assert language.adjacency.before[names[two]] >> names[one] & 1, (rules, sentence)
        if sentence:
            assert language.adjacency.before[names[sentence[0]]] >> end & 1, (rules, sentence)


def relation(language: GapLanguage, text: str) -> set[tuple[object, ...]]:
    """The relation of a token: (the state before or None, terminals that end in it, the state behind or None)."""
    lexer, follow = language.lexer, language.adjacency.follow
    moves, owners = lexer.moves.reshape(-1, lexer.n_classes), lexer.owners.tolist()
    found: set[tuple[object, ...]] = set()

    def read(at: int, state: int, origin: int | None, ended: tuple[int, ...]) -> None:
        """The rest of the text, within a lexeme."""
        if at == len(text):
            found.add((origin, ended, state))
            return
        after = int(moves[state, lexer.classes[ord(text[at])]])
        if after >= 0:
            read(at + 1, after, origin, ended)
            if lexer.kinds[after] == ACCEPTING:
                begin(at + 1, origin, (*ended, owners[after]))

    def begin(at: int, origin: int | None, ended: tuple[int, ...]) -> None:
        """The rest of the text, from the end of a lexeme or of the token before."""
        if at == len(text):
            found.add((origin, ended, None))
            return
        for terminal, start in enumerate(lexer.starts.tolist()):
            if not ended or follow[ended[-1]] >> terminal & 1:
                read(at, start, origin, ended)

    for state, kind in enumerate(lexer.kinds.tolist()):
        if kind != FRESH:
            read(0, state, state, ())
    begin(0, None, ())
    return found


@pytest.mark.parametrize("seed", range(60))
def test_tokens_of_a_class_do_the_same(seed):
    rules = random_rules(random.Random(seed))
    language = GapLanguage(grammar_of(rules))
    classes = TokenClasses(language, VOCABULARY)
    does = [frozenset(relation(language, text)) for text in TEXTS]
    assert classes.of[-1] == -1
    for token, text in enumerate(TEXTS):
        assert (classes.of[token] >= 0) == bool(does[token]), (rules, text)
        for other in range(token):
            if classes.of[token] == classes.of[other] >= 0:
                assert does[token] == does[other], (rules, text, TEXTS[other])


def test_words_are_one_class():
    """In JSON, letters that no literal and no escape has do the same, in words of any length."""
    words = [b"gh", b"xyz", b" wonderful", b"Kiosk", b"true", b"1", b'"', b'":']
    language = GapLanguage(collection.load("json").as_dynamic())
    of = TokenClasses(language, Vocabulary([*words, None], [len(words)])).of
    assert len(set(of[:2])) == 1 and len({*of[[0, 4, 5, 6, 7]]}) == 5


def test_too_ambiguous(monkeypatch):
    monkeypatch.setattr(token_classes, "MOST_CONFIGURATIONS", 3)
    with pytest.raises(LimitError, match="more than 3 things"):
        TokenClasses(GapLanguage(grammar_of({"S": [("a+", "S"), ("b",)], "A": [()], "B": [()]})), VOCABULARY)


def test_a_step_begins_with_what_is_live():
    """Arcs that are dead stay dead, and the chart of a question answered with yes is that of the next step."""
    language = GapLanguage(collection.load("json").as_dynamic())
    vocabulary = Vocabulary([*(bytes([each]) for each in range(32, 127)), b'":', b"},", None], [97])
    canvas = Canvas(language, vocabulary, [None] * 8)
    sizes = []
    for position, text in ((0, "{"), (7, "}"), (1, '"'), (3, '"')):
        token = ord(text) - 32
        assert canvas.allows({position: token})
        before = [mask.copy() for mask in map(canvas.mask, canvas.open)]
        kept = dict(zip(canvas.open, before, strict=True))
        canvas.set({position: token})
        sizes.append(sum(map(len, canvas._arcs)))
        for place in canvas.open:
            assert not (canvas.mask(place) & ~kept[place]).any()
    assert sizes == sorted(sizes, reverse=True)
    pair = {2: ord("a") - 32, 4: ord(":") - 32}
    assert canvas.allows(pair)
    asked = canvas._asked
    assert asked is not None
    canvas.set(pair)
    assert canvas._solved is asked[1]
    fresh = Canvas(language, vocabulary, canvas.tokens)
    for place in canvas.open:
        np.testing.assert_array_equal(canvas.mask(place), fresh.mask(place))
