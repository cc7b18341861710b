"""Random walks through grammars and through masks: whatever is written is valid, and no walk runs into a dead end.

A walk through a grammar expands the leftmost nonterminal by a random alternative; after some steps it takes an
alternative of least height, which must exist: alternatives that lead nowhere would be dead ends of a generation. A walk
through masks draws tokens of a small vocabulary as a generation does; after some steps it prefers tokens that close
something. Texts are judged by `jsonschema-rs` (those of MaskBench by `jsonschema`).
"""

import json
import random
from typing import Any

import jsonschema
import numpy as np
import pytest
from schema_oracles import Rust, explanation, reads_exactly
from schema_strategies import DRAFTS, seeded_schema

from constrain.errors import ConstrainError
from constrain.languages.automata.decide import shortest
from constrain.languages.automata.syntax import difference, literals
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.schema import json_schema
from constrain.languages.schema.api import JsonSchema
from constrain.languages.vocab import Vocabulary
from constrain.masks.engine import CompiledConstraint, compile_bytewise
from schema_corpus import corpora, sample

URIS = [draft.uri for draft in DRAFTS.values()]
DEEP = 60  # no nonterminal of these tests needs more levels to end


class Walker:
    """Random texts of a grammar."""

    def __init__(self, grammar: Grammar, seed: int) -> None:
        self.grammar = grammar
        self.choose = random.Random(seed)
        self.bodies: dict[Nonterminal, list] = {}
        self.heights: dict[Nonterminal, int] = {}

    def expand(self, symbol: Nonterminal) -> list:
        if symbol not in self.bodies:
            self.bodies[symbol] = [list(body) for body in symbol.expand()]
            assert self.bodies[symbol], f"{symbol} has no alternative"
        return self.bodies[symbol]

    def ends_within(self, symbol: Symbol, levels: int) -> bool:
        """True if the symbol derives some text in so many levels."""
        if isinstance(symbol, Terminal):
            return True
        if levels == 0:
            return False
        if symbol in self.heights:
            return self.heights[symbol] <= levels
        return any(all(self.ends_within(part, levels - 1) for part in body) for body in self.expand(symbol))

    def height(self, symbol: Symbol) -> int:
        if isinstance(symbol, Terminal):
            return 0
        if symbol not in self.heights:
            height = next((levels for levels in range(1, DEEP) if self.ends_within(symbol, levels)), None)
            assert height is not None, f"{symbol} leads nowhere"
            self.heights[symbol] = height
        return self.heights[symbol]

    def text(self, steps: int = 60) -> str:
        """One text; after `steps` expansions as short as possible."""
        written = []
        stack: list[Symbol] = [self.grammar.start]
        while stack:
            symbol = stack.pop()
            if isinstance(symbol, Terminal):
                written.append(self.lexeme(symbol))
                continue
            bodies = self.expand(symbol)
            heights = [max([0, *map(self.height, body)]) for body in bodies]  # every alternative must lead to an end
            steps -= 1
            body = self.choose.choice(bodies) if steps > 0 else bodies[heights.index(min(heights))]
            stack += reversed(body)
        return "".join(written)

    def lexeme(self, terminal: Terminal) -> str:
        node = terminal.node
        if terminal.excluding:
            keys = [json.dumps(chr(97 + i)) for i in range(26)]
            excluded = {shortest(other.node) for other in terminal.excluding}
            return self.choose.choice([key for key in keys if key not in excluded])
        found = shortest(node)
        assert found is not None
        longer = shortest(difference(node, literals([found]))) if not found.startswith('"') else None
        return longer if longer is not None and self.choose.random() < 0.5 else found


def judge(schema: Any, constraint: JsonSchema, text: str) -> bool:
    """Must a finished text be valid, and is it? False: the check takes it back, or no validator can say."""
    if constraint.residual_fault(text) is not None:  # residual conditions: repeated keys, equal items
        return False
    if not reads_exactly(text):
        return False
    if "$schema" in schema and schema["$schema"] in URIS:
        assert Rust(schema)(text) or explanation(schema, text, True), (schema, text)
    else:
        kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        assert kind(schema).is_valid(json.loads(text)), (schema, text)
    return True


def check_walks(schema: object, order: str, count: int = 3) -> int:
    """Walk some times through the grammar; the number of texts that were judged."""
    try:
        constraint = json_schema(schema, property_order=order, formats="annotate")
    except ConstrainError:
        return 0
    return sum(judge(schema, constraint, Walker(constraint.to_grammar(), seed).text()) for seed in range(count))


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("draft", DRAFTS)
def test_walks_through_grammars_are_valid(draft: str, order: str) -> None:
    assert sum(check_walks(seeded_schema(draft, f"walk {seed}"), order) for seed in range(50)) > 50


# --------------------------------------------------------------------------------------------------------------- masks

CHARACTERS = [chr(code) for code in range(32, 127)]
PIECES = ["null", "true", "false", '"a', 'b"', '":', '","', '{"', "[]", "{}", "},{", '"ab"', "[[", "]]", "}]", "00"]
PIECES += ['"b":', "12", "0.5", "1,", "aa", "\\u00", "é"]
TOKENS: list[bytes | None] = [piece.encode() for piece in dict.fromkeys([*CHARACTERS, *PIECES])]
TOKENS += [b"\xc3", b"\xa9", None]
EOS = len(TOKENS) - 1
CLOSING = [TOKENS.index(piece.encode()) for piece in ("}", "]", '"', '":', "null", "true", "1", "0", "5", ",", ":")]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(TOKENS, eos_ids=[EOS])


def walk(compiled: CompiledConstraint, choose: random.Random, steps: int = 20, limit: int = 300) -> str | None:
    """Draw tokens until the end of text; None if a text is still open after `limit` tokens."""
    matcher = compiled.matcher()
    row = np.zeros(compiled.vocabulary.words, np.uint32)
    for step in range(limit):
        matcher.fill_mask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        assert allowed, f"a dead end after {matcher.text!r}"
        assert (EOS in allowed) == matcher.is_accepting()
        if EOS in allowed and (len(allowed) == 1 or step > steps or choose.random() < 0.3):
            return matcher.text.decode()
        ready = [token for token in CLOSING if token in allowed] if step > steps and choose.random() < 0.9 else []
        token = ready[0] if ready else choose.choice([token for token in allowed if token != EOS])
        assert matcher.advance(token)
    return None


@pytest.mark.parametrize("draft", DRAFTS)
def test_walks_through_masks_are_valid(draft: str, vocabulary: Vocabulary) -> None:
    judged = unfinished = 0
    for seed in range(60):
        choose = random.Random(seed)
        schema = seeded_schema(draft, f"masks {seed}")
        try:
            order = choose.choice(["schema", "any"])
            constraint = json_schema(schema, whitespace="compact", property_order=order, formats="annotate")
        except ConstrainError:
            continue
        compiled = compile_bytewise(constraint, vocabulary)
        for _ in range(3):
            text = walk(compiled, choose)
            unfinished += text is None  # it wandered: nothing in a mask says what ends soonest
            judged += text is not None and judge(schema, constraint, text)
    assert judged > 80
    assert unfinished < judged / 5


@corpora
def test_walks_of_real_schemas_are_valid(corpus: str) -> None:
    judged = 0
    for entry in sample(corpus, first=7, step={"ours": 4, "maskbench": 250}[corpus]):
        text = json.dumps(entry.schema)
        if len(text) < 20_000 and '"multipleOf"' not in text:  # jsonschema divides floats
            judged += check_walks(entry.schema, "schema", 2)
    assert judged > {"ours": 120, "maskbench": 25}[corpus]
