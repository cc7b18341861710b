"""Shortest completions: exact against a search over all texts; a completion goes on as its own rest."""

import random

import pytest

import constrain
from constrain.kernels.records import arena, view
from constrain.kernels.records.grammars import TERMINAL
from constrain.languages.automata import decide
from constrain.languages.automata.least import LeastTexts
from constrain.languages.automata.syntax import JsonString, concat, intersect, literal
from constrain.languages.cfg.rules import Terminal
from constrain.languages.constraints.regular import regex
from constrain.languages.grammar_text.text import grammar
from constrain.masks.completion.least import least_lexeme
from constrain.masks.completion.shortest import Shortest
from constrain.masks.derived.members import byte_automaton, byte_matcher, is_member
from constrain.masks.derived.triggered import triggered
from constrain.masks.engine import inspect
from handmade import Made
from reading_oracle import language, texts
from small_grammars import JSON, STATEMENTS, random_grammar

LONGEST = 6


def completions(constraint, prefixes):
    """{text: shortest completion} by the engine, for the texts that can go on."""
    automaton = byte_automaton()
    rules = automaton.grammars.rules_of(constraint)

    def ask():
        shortest = Shortest(automaton, rules)
        start = automaton.start(rules)
        states = {text: inspect.after(automaton, start, text.encode()) for text in prefixes}
        return {text: shortest.completion(state) for text, state in states.items() if state != arena.NONE}

    return automaton.attempt(ask)


@pytest.mark.parametrize("seed", range(120))
def test_no_text_is_shorter(seed):
    """Random grammars over two letters: the least completion of every short text, and nothing where there is none."""
    made = random_grammar(random.Random(seed))
    verdicts = language(made, "ab", LONGEST)
    members = sorted((text for text, (is_one, _) in verdicts.items() if is_one), key=lambda text: (len(text), text))
    found = completions(Made(made), list(texts("ab", 3)))
    for text in texts("ab", 3):
        expected = next((member[len(text) :] for member in members if member.startswith(text)), None)
        if expected is None and found.get(text) is not None:
            assert len(text) + len(found[text]) > LONGEST
            assert is_member(Made(made), text + found[text].decode())
        else:
            assert (found.get(text) is None) == (expected is None), text
            assert expected is None or found[text] == expected.encode()


@pytest.mark.parametrize(
    "constraint, text, expected",
    [
        (grammar(JSON), '[{"a": "x', '"}]'),
        (grammar(JSON), '[{"a": "\\', '""}]'),
        (grammar(JSON), '[{"a": "\\u', '0000"}]'),
        (grammar(JSON), "[1.", "0]"),
        (grammar(JSON), "[1 ", "]"),
        (grammar(JSON), "[1, ", "0]"),
        (grammar(JSON), "t", "rue"),
        (grammar(STATEMENTS), "if a == ", "0thena(0);"),
        (regex("(abc){3,}"), "abca", "bcabc"),
        (triggered("<n>", regex("[0-9]{2}"), "</n>"), "a <n>1", "0</n>"),
    ],
    ids=str,
)
def test_of_grammars(constraint, text, expected):
    assert completions(constraint, [text])[text] == expected.encode()
    assert is_member(constraint, text + expected)


REQUIRED = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 3},
        "kind": {"enum": ["cat", "otter"]},
        "box": {"$ref": "#/$defs/box"},
    },
    "required": ["name", "kind", "box"],
    "$defs": {
        "box": {
            "type": "object",
            "properties": {"in": {"$ref": "#/$defs/box"}, "n": {"type": "integer"}},
            "required": ["n"],
        }
    },
}


def test_of_schemas():
    constraint = constrain.json_schema(REQUIRED)
    expected = {
        "": b'{"name":"   ","kind":"cat","box":{"n":0}}',
        '{"name": "a': b'  ", "kind": "cat", "box": {"n": 0}}',
        '{"name":"abcd","kind":"o': b'tter","box":{"n":0}}',
        '{"name":"abcd","kind":"cat","box":{"in":{"in":{': b'"n":0},"n":0},"n":0}}',
    }
    assert completions(constraint, list(expected)) == expected


@pytest.mark.parametrize(
    "constraint", [grammar(JSON), grammar(STATEMENTS, lexer="greedy"), constrain.json_schema(REQUIRED)], ids=str
)
def test_a_completion_goes_on_as_its_rest(constraint):
    """From random places: the text completed is a member, and after each byte of it the rest is the completion."""
    rng = random.Random(7)
    for _ in range(10):
        matcher = byte_matcher(constraint)
        for _ in range(rng.randrange(30)):
            allowed = [byte for byte in range(256) if matcher.fork().advance_bytes(bytes([byte])) and byte < 127]
            if not allowed:
                break
            matcher.advance_bytes(bytes([rng.choice(allowed)]))
        text = matcher.text.decode()
        whole = completions(constraint, [text])[text]
        assert is_member(constraint, text + whole.decode()), text
        if "greedy" not in repr(constraint) and constraint.to_grammar().lexer == "dynamic":
            rests = {text + whole[:i].decode(): whole[i:] for i in range(1, len(whole))}
            assert completions(constraint, list(rests)) == rests


TREES = ["b|ab|(c|d){2}", "(?:a|bb)(?:c|dd){2}x?", r"\d+(\.\d+)?", "[^a]|aa", "(ab|b|a)+c", "é|zz|ü", "x{1001}|y{1001}"]


@pytest.mark.parametrize("pattern", [*TREES, "(?!ab)a[b-d]", "(?:a|(?!b).){2}"])
def test_the_least_text_of_a_tree_is_that_of_its_automaton(pattern):
    node = regex(pattern).node
    for tree in (node, concat(literal("-"), node, node), JsonString(node, True), concat(JsonString(node, False), node)):
        assert least_lexeme(Terminal(tree)) == decide.shortest(tree).encode()
    assert least_lexeme(Terminal(concat(node, intersect(node, literal("\n\n\n"))))) is None


def nearest_end(store, lexer, tag, others):
    """The definition: the first end of a lexeme of a terminal, and of none of others, in breadth-first search."""
    seen, level = {lexer}, [(b"", lexer)]
    while level:
        following = []
        for text, state in level:
            for byte, after in store.successors(state):
                if after not in seen:
                    seen.add(after)
                    following.append((text + bytes((byte,)), after))
                    ended = view.terminals_within(store.memory.A, after, ended=True)
                    if tag in ended and not ended & others:
                        return following[-1][0]
        level = following
    return None


LEXEMES = {
    "keys": constrain.json_schema(
        {"type": "object", "properties": {"a": True, "ab": {"type": "number"}}, "additionalProperties": {"const": "é"}}
    ),
    "lengths": constrain.json_schema({"type": "string", "pattern": "^(a|bc|é)+[0-9]$", "minLength": 4, "maxLength": 6}),
    "patterns": constrain.json_schema({"allOf": [{"pattern": "a.?b"}, {"pattern": "^[^c]{2,5}$"}], "type": "string"}),
    "not": constrain.json_schema({"type": "string", "not": {"pattern": "^.?.?$"}, "maxLength": 5}),
    "multiple": constrain.json_schema({"type": "integer", "multipleOf": 7, "maximum": 10_000, "minimum": 3}),
    "numbers": constrain.json_schema({"enum": ["a", "abc" * 9, "abd", 12, 1200]}),
    "words": grammar(STATEMENTS),
    "longest": grammar(STATEMENTS, lexer="greedy"),
    "mail": constrain.json_schema({"type": "string", "format": "name-email", "maxLength": 9}),
    "host": constrain.json_schema({"type": "string", "format": "hostname"}),
}


@pytest.mark.parametrize("name", LEXEMES)
def test_ends_of_lexemes_are_the_nearest_ones(name):
    """From random places: what is read off a lexer state is what breadth-first search of all states finds."""
    automaton = byte_automaton()
    rules = automaton.grammars.rules_of(LEXEMES[name])
    rng, asked = random.Random(5), 0

    def ask():
        nonlocal asked
        shortest = Shortest(automaton, rules)
        for _ in range(8):
            state = automaton.start(rules)
            for _ in range(rng.randrange(1, 12)):
                for lexeme in inspect.lexemes(automaton, state):
                    alive = shortest.alive(lexeme.lexer)
                    for record, tag in shortest.terminals(lexeme.parser):
                        if tag in alive and not lexeme.fresh:
                            excluded = TERMINAL.EXCLUDED(automaton.memory.A, record)
                            others = frozenset(view.key_words(automaton.memory.A, excluded) if excluded else ())
                            found = shortest.ways[0]._end(lexeme.lexer, record)
                            assert found == nearest_end(automaton.store, lexeme.lexer, tag, others)
                            asked += 1
                after = [inspect.after(automaton, state, bytes((byte,))) for byte in range(256)]
                state = rng.choice(sorted({each for each in after if each != arena.NONE}) or [state])

    automaton.attempt(ask)
    assert asked > 5


def test_an_intersection_is_not_searched_for_each_count(monkeypatch):
    """Searches from the letters of an address meet the same states, whose counts of letters are less by one each."""
    searched = []
    search = LeastTexts.search
    monkeypatch.setattr(LeastTexts, "search", lambda *given: searched.append(given[1]) or search(*given))
    address = regex("[a-z.]{1,200}(@|%)((?!.*[.][.])[a-z.]{2,200})[.][a-z]{3,900}")
    found = completions(address, ["abcdefghijklmnop"[:length] + "@" + "abcd" for length in range(17)])
    assert found["abc@abcd"] == b".aaa"
    assert 0 < len(searched) < 17
