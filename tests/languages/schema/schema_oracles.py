"""Three verdicts on one text: ours, that of `jsonschema` (Python) and that of `jsonschema-rs` (Rust).

Ours is taken from the grammar by the plain recogniser (`naive_schema.py`) and the check of the finished text, so that
no part of the engine is involved. The two validators see the text as `json.loads` reads it. Where they are known to be
wrong stands in `schema_oracle_bugs.py`.

Two things are set right beforehand: `jsonschema` divides floats for `multipleOf` (0.3 is no multiple of 0.1 for it), so
it gets exact arithmetic here; `jsonschema-rs` asserts formats in older drafts unless told not to.
"""

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import jsonschema
import jsonschema_rs
from naive_schema import recognises
from schema_oracle_bugs import ORACLE_BUGS, mended

from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.languages.cfg.rules import Grammar
from constrain.languages.schema import json_schema
from constrain.languages.schema.api import JsonSchema

RUST = {
    "http://json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
    "http://json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "http://json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "https://json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012Validator,
}


class Refused(NamedTuple):
    """We refuse the schema: error: the exception's name."""

    error: str
    message: str


class Ours:
    """Our verdicts for one schema. Raises ConstrainError for a schema that is refused."""

    def __init__(self, schema: Any, **options: Any) -> None:
        self.grammar: Grammar | None = None
        self.constraint: JsonSchema | None = None
        defaults = {"spelling": "any", "whitespace": "compact", "property_order": "any", "formats": "annotate"}
        options = {**defaults, **options}
        try:
            self.constraint = json_schema(schema, **options)
            self.grammar = self.constraint.to_grammar()
        except UnsatisfiableError:
            pass  # nothing is valid

    def __call__(self, text: str) -> bool:
        if self.grammar is None or self.constraint is None:
            return False
        return recognises(self.grammar, text) and self.constraint.residual_fault(text) is None


def ours(schema: Any) -> Ours | Refused:
    """Our judge of a schema, or its refusal."""
    try:
        return Ours(schema)
    except ConstrainError as error:
        return Refused(type(error).__name__, error.message)


def _multiple_of(validator: Any, step: Any, value: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    """Exact: a float counts as the decimal that it prints as."""
    if validator.is_type(value, "number") and Fraction(str(value)) % Fraction(str(step)):
        yield jsonschema.ValidationError(f"{value} is not a multiple of {step}")


class Python:
    """The verdicts of `jsonschema`."""

    def __init__(self, schema: dict[str, Any]) -> None:
        base = jsonschema.validators.validator_for(schema)
        self.validator = jsonschema.validators.extend(base, {"multipleOf": _multiple_of})(schema)

    def __call__(self, text: str) -> bool | None:
        """None: it breaks down, as `ORACLE_BUGS` knows."""
        try:
            return bool(self.validator.is_valid(json.loads(text)))
        except (RecursionError, AttributeError, TypeError):
            return None


class Rust:
    """The verdicts of `jsonschema-rs`."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.validator = RUST[schema["$schema"].rstrip("#")](schema, validate_formats=False)

    def __call__(self, text: str) -> bool:
        return bool(self.validator.is_valid(json.loads(text)))


class Outcome(NamedTuple):
    """The outcome of one pair. kind: "agree", "refused", "validator" (for the fault `bug`), "WRONG"."""

    kind: str
    ours: bool | None
    python: bool | None
    rust: bool
    bug: str | None = None


def compare(schema: dict[str, Any], text: str, judge: Ours | Refused, python: Python, rust: Rust) -> Outcome:
    """The three verdicts on one text. Where they differ, a known fault must explain it."""
    by_python, by_rust = python(text), rust(text)
    if isinstance(judge, Refused):
        return Outcome("refused", None, by_python, by_rust)
    mine = judge(text)
    if mine == by_python == by_rust:
        return Outcome("agree", mine, by_python, by_rust)
    bug = explanation(schema, text, mine)
    return Outcome("WRONG" if bug is None else "validator", mine, by_python, by_rust, bug)


def explanation(schema: dict[str, Any], text: str, mine: bool) -> str | None:
    """The fault without which all three agree (or that it takes several); None if there is none."""
    for bugs in (*((bug,) for bug in ORACLE_BUGS), ORACLE_BUGS):
        other = mended(schema, bugs)
        if other != schema and Python(other)(text) == Rust(other)(text) == mine:
            return bugs[0].name if len(bugs) == 1 else "several of these"
    return None


def is_wrong(schema: Any, value: Any) -> bool:
    """Does this pair disagree? (For shrinking.)"""
    judge = ours(schema)
    if isinstance(judge, Refused):
        return False
    return compare(schema, write(value), judge, Python(schema), Rust(schema)).kind == "WRONG"


def keywords(schema: Any) -> set[str]:
    """Every key of every object inside a schema."""
    if isinstance(schema, dict):
        return set(schema).union(*map(keywords, schema.values()))
    if isinstance(schema, list):
        return set().union(*map(keywords, schema))
    return set()


def reads_exactly(text: str) -> bool:
    """Do the validators see every number of the text as it is written? (They read floats.)"""

    def is_exact(number: str) -> float:
        value = float(number)
        exact.append(math.isfinite(value) and len(number) < 16 and Decimal(number) == Decimal(repr(value)))
        return value

    exact: list[bool] = []
    json.loads(text, parse_float=is_exact)
    return all(exact)


def write(value: Any) -> str:
    """The text of a value."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
