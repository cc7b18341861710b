"""Objects in any order: their rules equal the results of `expand`, and a validator accepts the same texts."""

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import jsonschema
import numpy as np
import pytest
from engine_cases import allowed, mask_of

import constrain
import vocabularies
from constrain.kernels.lexer import key_tries
from constrain.kernels.records import view
from constrain.kernels.records.arena import HEADER, NONE, kind
from constrain.kernels.records.grammars import NONTERMINAL, SUFFIX
from constrain.kernels.records.key_sets import KEY_SET
from constrain.languages.automata.lower import lower
from constrain.languages.automata.syntax import json_string, literal
from constrain.languages.cfg.rules import Nonterminal, Symbol
from constrain.languages.cfg.transform.walk import alternatives_of
from constrain.masks.engine import Matcher, TokenAutomaton, inspect
from constrain.masks.engine.compiled_rules import CompiledRules
from tables import table

TABLE = table("key_set_schemas")

ODD = ["", '"', "\\", "é", "日本", "è", "😀", "a\nb", " ", "a", "ab", "abc", "aé"]
SCHEMAS: dict[str, Any] = TABLE["schemas"]
NAMES = ["a", "b", "ab", "c"]
VALUES: list[Any] = [1, "x"]


def matcher_of(schema: Any, **options: Any) -> Matcher:
    options = {"whitespace": "compact", "property_order": "any", **options}
    constraint = constrain.json_schema({"type": "object", **schema}, **options)
    vocabulary = vocabularies.tiny()
    return constrain.compile(constraint, vocabulary, automaton=TokenAutomaton(vocabulary)).matcher()


# --------------------------------------------------------------------------------------------------- a validator's word


def objects() -> Iterator[list[tuple[str, Any]]]:
    """Every list of at most three members, in every order, repeated names among them."""
    for n in range(4):
        for names in itertools.product(NAMES, repeat=n):
            yield [(name, VALUES[(i + len(name)) % 2]) for i, name in enumerate(names)]
            yield [(name, 1) for name in names]


def text_of(members: list[tuple[str, Any]]) -> bytes:
    return ("{" + ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in members) + "}").encode()


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_order_is_a_member_if_the_object_is_valid(name: str) -> None:
    validator = jsonschema.Draft202012Validator({"type": "object", **SCHEMAS[name]})
    matcher = matcher_of(SCHEMAS[name])
    members = 0
    for listed in objects():
        wanted = len(dict(listed)) == len(listed) and validator.is_valid(dict(listed))
        fork = matcher.fork()
        found = fork.advance_bytes(text_of(listed)) and fork.is_accepting()
        assert found == wanted, listed
        members += wanted
    assert members


@pytest.mark.parametrize("name", SCHEMAS)
def test_no_beginning_is_a_dead_end(name: str) -> None:
    """A text that is not refused has a completion: `complete` finds one, and the validator accepts it."""
    validator = jsonschema.Draft202012Validator({"type": "object", **SCHEMAS[name]})
    matcher = matcher_of(SCHEMAS[name])
    rng = random.Random(name)
    for listed in rng.sample(list(objects()), 12):
        text, fork = text_of(listed), matcher.fork()
        while text and not fork.advance_bytes(text):
            text, fork = text[:-1], matcher.fork()
        assert mask_of(fork) == allowed(fork), text
        for _ in range(400):  # from every state: the masks lead to a member, by the bytes that close something
            if fork.is_accepting():
                break
            tokens = mask_of(fork)
            ready = [byte for byte in b'}]":1,lsruen' if byte in tokens]
            assert tokens, fork.text
            assert fork.advance(ready[0] if ready and rng.random() < 0.8 else rng.choice(sorted(tokens)))
        if fork.is_accepting():
            assert validator.is_valid(json.loads(fork.text)), fork.text


# ------------------------------------------------------------------------------------------------ the rules' plain twin


def compare(automaton: TokenAutomaton, rules: CompiledRules) -> tuple[int, int]:
    """Compare all alternatives with the results of `expand`; the number of nonterminals, and of those of sets."""
    compared = of_sets = 0
    for record, symbol in inspect.symbols(automaton, rules).items():
        if isinstance(symbol, Nonterminal) and NONTERMINAL.ALTERNATIVES(automaton.memory.A, record):
            expected = {tuple(automaton.symbols.record(s, rules) for s in each) for each in unskipped(symbol)}
            assert written(automaton, record) == expected, symbol
            compared += 1
            of_sets += NONTERMINAL.KEY_SET(automaton.memory.A, record) != 0
    return compared, of_sets


def unskipped(symbol: Nonterminal) -> Iterator[list[Symbol]]:
    """The alternatives of a nonterminal; in place of a member that comes next if one is skipped, its alternatives."""
    for alternative in alternatives_of(symbol):
        if symbol.name == "member" and len(alternative) == 1 and isinstance(alternative[0], Nonterminal):
            yield from unskipped(alternative[0])
        else:
            yield list(alternative)


def written(automaton: TokenAutomaton, record: int) -> set[tuple[int, ...]]:
    """The alternatives of a nonterminal, key by key."""
    lists = []
    for suffix in view.list_items(automaton.memory.A, NONTERMINAL.ALTERNATIVES(automaton.memory.A, record)).tolist():
        symbol = SUFFIX.SYMBOL(automaton.memory.A, suffix) if suffix else 0
        if symbol and kind(automaton.memory.A, symbol) == KEY_SET.KIND:
            assert not SUFFIX.NEXT(automaton.memory.A, suffix)
            lists += inspect.members(automaton, symbol)
        else:
            lists.append(suffix)
    return {inspect.suffix(automaton, suffix) for suffix in lists}


MEMBERS = [[], [("a", 1)], [("b", 1), ("a", 1)], [("ab", 1), ("b", 1)], [("c", 1), ("a", 1)], [("a", 1), ("c", 1)]]
MEMBERS += [[("ab", 1), ("b", 1), ("a", 1)], [("c", "x"), ("b", 1)]]


@pytest.mark.parametrize("spelling", ["any", "plain"])
@pytest.mark.parametrize("name", SCHEMAS)
def test_rules_are_those_that_expand_gives(name: str, spelling: str) -> None:
    matcher = matcher_of(SCHEMAS[name], spelling=spelling)
    for listed in MEMBERS:
        matcher.fork().advance_bytes(text_of(listed))
    compared, of_sets = compare(matcher.compiled.automaton, matcher.compiled.rules)
    assert compared > 1 or name == "none"
    assert of_sets > 1 or name in ("none", "a need", "dependent", "dependent schemas"), "these have no sets, or few"


@pytest.mark.parametrize("more", [False, True, {"type": "integer"}], ids=str)
@pytest.mark.parametrize("never", [(), ("never",), ("k", "é", "")], ids=str)
def test_keys_of_any_letters(more: Any, never: tuple[str, ...]) -> None:
    names = [name for name in ODD if name not in never]
    schema = {
        "properties": {key: {"type": ["integer", "null"]} for key in names} | dict.fromkeys(never, False),
        "required": names[2:4],
        "additionalProperties": more,
    }
    for seed in range(3):
        matcher = matcher_of(schema)
        shuffled = random.Random(seed).sample(names, len(names))
        assert matcher.advance_bytes(json.dumps(dict.fromkeys(shuffled, 1), separators=(",", ":")).encode()[:-1])
        for name in [*shuffled[:3], *never]:
            assert not matcher.fork().advance_bytes(f",{json.dumps(name)}:".encode())
        assert matcher.fork().advance_bytes(b',"other":1}') == (more is not False)
        compare(matcher.compiled.automaton, matcher.compiled.rules)


IN_ORDER = {"none": [], "all": range(40), "first": [0], "last": [39], "every seventh": range(3, 40, 7), "two": [7, 8]}
MORE: dict[str, Any] = {
    "closed": {"additionalProperties": False},
    "open": {},
    "integers": {"additionalProperties": {"type": "integer"}},
    "patterns": {"patternProperties": {"^o": {"const": 1}}, "additionalProperties": False},
}


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("required", IN_ORDER)
def test_many_keys_in_the_order_of_the_schema(required: str, more: str) -> None:
    """Every choice of some members is accepted in order alone, and if the validator accepts it."""
    names = [f"{'ka'[i % 2]}{i * 7 % 40}" for i in range(40)]
    must = [names[i] for i in IN_ORDER[required]]
    schema = {
        "properties": {key: {"enum": [1, None]} for key in names} | {"never": False},
        "required": must,
        **MORE[more],
    }
    validator = jsonschema.Draft202012Validator({"type": "object", **schema})
    start = matcher_of(schema, property_order="schema")
    rng = random.Random(required + more)
    members = 0
    for seed in range(40):
        some = [name for name in names if name in must or rng.random() < 0.4 or seed == 0]
        listed = [(name, 1) for name in some] + [("other", 1)] * (seed % 3 == 1) + [("never", 1)] * (seed % 20 == 9)
        if seed % 5 == 4 and len(listed) > 1:  # one out of order, left out, or twice
            i = rng.randrange(len(listed) - 1)
            change = {4: [listed[i + 1], listed[i]], 9: listed[i : i + 1], 14: [listed[i], listed[i], listed[i + 1]]}
            listed[i : i + 2] = change.get(seed % 15, [listed[i + 1], listed[i]])
        keys = [key for key, _ in listed]
        ranks = [names.index(key) if key in names else 40 for key in keys]
        wanted = ranks == sorted(ranks) and len(set(keys)) == len(keys) and validator.is_valid(dict(listed))
        matcher = start.fork()
        found = matcher.advance_bytes(text_of(listed)) and matcher.is_accepting()
        assert found == wanted, listed
        members += wanted
        assert mask_of(matcher) == allowed(matcher)
    assert members > 5
    compared, of_sets = compare(start.compiled.automaton, start.compiled.rules)
    assert compared > of_sets > 1


def test_situations_do_not_remember_the_order() -> None:
    names = ["p", "q", "pq", "r"]
    schema = {"properties": {key: {"const": 1} for key in names}, "additionalProperties": False}
    start = matcher_of(schema)
    for some in itertools.chain.from_iterable(itertools.combinations(names, n) for n in range(5)):
        states = set()
        for order in itertools.permutations(some):
            matcher = start.fork()
            assert matcher.advance_bytes(text_of([(name, 1) for name in order])[:-1])
            states.add(matcher.state)
        assert len(states) == 1, some


# ----------------------------------------------------------------------------------------------------------- the tries


@pytest.mark.parametrize("plain", [False, True])
def test_a_trie_without_keys_is_the_trie_of_the_others(plain: bool) -> None:
    automaton = TokenAutomaton(vocabularies.tiny())
    store, memory = automaton.store, automaton.memory
    names = sorted(["", '"', "a", "ab", "abc", "b", "é", "è", "aé"])
    keys = [lower(store, json_string(literal(name), plain)) for name in names]

    def trie_of(some: list[int]) -> int:
        return memory.call_on(some, lambda A, H, S: key_tries.key_trie(A, H, S, S[0] - len(some), S[0]))

    def without(trie: int, key: int) -> int:
        return memory.call(key_tries.without_key, trie, key)

    assert trie_of([]) == NONE
    for n in range(1, len(keys) + 1):
        for some in itertools.combinations(keys, n):
            trie = trie_of(list(some))
            assert view.terminals_within(memory.A, trie) == set(some)
            for key in keys:
                rest = [other for other in some if other != key]
                assert without(trie, key) == (trie_of(rest) if key in some else 0)


# ------------------------------------------------------------------------------------------------------------ the work


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("more", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("required", [False, True], ids=["optional", "required"])
def test_reading_is_linear(more: bool, required: bool, order: str) -> None:
    words = {n: words_for(n, more, required, order) for n in (100, 400)}
    assert words[400] < 5 * words[100]


def words_for(n: int, more: bool, required: bool, order: str) -> int:
    """The words of the arena that a text of n members takes, with masks; in any order it is read backwards."""
    names = [f"p{i:03}" for i in range(n)]
    schema = {"properties": {key: {"type": "integer"} for key in names}, "additionalProperties": more}
    matcher = matcher_of(schema | ({"required": names} if required else {}), property_order=order)
    A = matcher.compiled.automaton.memory.A
    before = int(A[HEADER.TOP])
    row = np.zeros(matcher.compiled.vocabulary.words, np.uint32)
    for byte in text_of([(name, 1) for name in names[:: -1 if order == "any" else 1]]):
        matcher.fill_mask(row)
        assert matcher.advance(byte)
    assert matcher.is_accepting()
    return int(A[HEADER.TOP]) - before
