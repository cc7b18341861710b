"""Random walks through grammars: whatever is written is valid, and every alternative leads to an end.

A walk expands the leftmost nonterminal by a random alternative; after some steps it takes an alternative of least
height, which must exist: alternatives that lead nowhere would be dead ends of a generation. Texts are judged by the
`jsonschema` package.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from test_schema_differential import SCHEMAS, verdict

from constrain.automata.decide import shortest
from constrain.automata.syntax import difference, literals
from constrain.errors import ConstrainError
from constrain.grammar.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.schema import json_schema

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
        """Does the symbol derive some text in so many levels?"""
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


def check_walks(schema: object, order: str, count: int = 3) -> int:
    """Walk some times; the number of texts that were judged."""
    try:
        source = json_schema(schema, property_order=order)
    except ConstrainError:
        return 0
    validator = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)(schema)
    judged = 0
    for seed in range(count):
        text = Walker(source.to_grammar(), seed).text()
        if source.check(text) is None:  # residues: repeated keys, equal items
            value = json.loads(text)
            assert verdict(validator, value, True), (schema, text)
            judged += 1
    return judged


@pytest.mark.parametrize("order", ["schema", "any"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(schema=SCHEMAS, node=SCHEMAS)
def test_walks_of_random_schemas_are_valid(order: str, schema: object, node: object) -> None:
    check_walks(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"node": node}, "allOf": [schema]}, order
    )


def test_walks_of_maskbench_schemas_are_valid(maskbench_dir: Path) -> None:
    judged = 0
    for path in sorted(maskbench_dir.glob("*.json"))[7::250]:
        schema = json.loads(path.read_text())["schema"]
        if len(json.dumps(schema)) < 20_000 and '"multipleOf"' not in json.dumps(schema):  # jsonschema divides floats
            judged += check_walks(schema, "schema", 2)
    assert judged > 25
