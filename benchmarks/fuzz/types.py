"""Types of Python with bounds of many kinds: pydantic takes what a mask lets through, and the mask what it writes.

A case is an expression in the names of tests/languages/schema/python_types.py, and a seed for the walks and for the
outputs of the embedded model.
"""

from __future__ import annotations

import random
import warnings
from datetime import date, datetime, timedelta
from typing import Any

import pydantic
from hypothesis import strategies as st
from python_types import ROWS, VOCABULARY, evaluated, refusal
from test_schema_walks import walk

import constrain
from fuzz import Target

WALKS = 6
DRAWS = 8
ZONES = ("", ", tzinfo=timezone.utc", ", tzinfo=INDIA")
PLAIN = [
    row["type"] for row in ROWS if not row.get("later") and row["type"] not in ("FutureDate", "FutureDatetime", "named")
]
CLASSES = ("Nested", "Holiday", "Cat", "Ant", "Placed", "Held", "Encoded", "Hexadecimal", "Twice")
NOT_KEYS = ("Json", "Secret", "set", "dict", "deque", "Counter", "None", "tuple", "Any", "list", "Base64", *CLASSES)
NOT_WRITTEN = ("Json", "Secret", "Fraction", "Base64", "Url", "Dsn", "Email", "float", "re.compile", "Nested", "Placed",
               "Held")  # fmt: skip
"""Types of which the mask does not take everything that pydantic writes, or that it writes otherwise."""


def _moment(zone: str) -> st.SearchStrategy[str]:
    moments = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 28))
    return moments.map(lambda at: f"datetime({at.year}, {at.month}, {at.day}, {at.hour}, {at.minute}, {at.second}, "
                       f"{at.microsecond}{zone})")  # fmt: skip


def _bounded(kind: str, value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A type between two values, or with one of them."""

    def made(low: str, high: str, ways: tuple[str, str]) -> str:
        low, high = sorted((low, high), key=evaluated)
        given = [f"{way}={end}" for way, end in zip(ways, (low, high), strict=True) if way]
        return f"Annotated[{kind}, Field({', '.join(given)})]"

    ways = st.tuples(st.sampled_from(["ge", "gt", ""]), st.sampled_from(["le", "lt", ""])).filter(any)
    return st.builds(made, value, value, ways)


DECIMALS = st.decimals(-(10**6), 10**6, allow_nan=False, places=3).map(lambda value: f"Decimal('{value}')")
DIGITS = st.builds(
    lambda most, places: f"Annotated[Decimal, Field(max_digits={most}, decimal_places={min(most, places)})]",
    st.integers(1, 12),
    st.integers(0, 12),
)
BOUNDED = st.one_of(
    _bounded("date", st.dates(date(1, 1, 1)).map(lambda day: f"date({day.year}, {day.month}, {day.day})")),
    *(_bounded("datetime", _moment(zone)) for zone in ZONES),
    _bounded("timedelta", st.timedeltas(timedelta(-10**6), timedelta(10**6)).map(
        lambda span: f"timedelta({span.days}, {span.seconds}, {span.microseconds})")),
    _bounded("Decimal", DECIMALS),
    _bounded("int", st.integers(-10**12, 10**12).map(str)),
    DIGITS,
    st.builds(lambda low, more: f"conbytes(min_length={low}, max_length={low + more})",
              st.integers(0, 9), st.integers(0, 9)),
    st.builds(lambda low, more: f"constr(strip_whitespace=True, min_length={low}, max_length={low + more})",
              st.integers(1, 9), st.integers(0, 9)),
)  # fmt: skip
MEMBERS = ["b'a'", "'a'", "'1'", "0", "1", "True", "None", "Letter.A", "Number.ONE", "Number.TWO"]
LITERALS = st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=4, unique=True).map(
    lambda members: f"Literal[{', '.join(members)}]"
)
TAGGED = st.lists(st.sampled_from(["Cat", "Dog", "Ant", "Bee"]), min_size=2, unique=True).map(
    lambda classes: f"Annotated[{' | '.join(classes)}, Field(discriminator='kind')]"
)
SCALARS = st.one_of(st.sampled_from(PLAIN), BOUNDED, LITERALS, TAGGED)
KEYS = SCALARS.filter(lambda kind: not any(word in kind for word in NOT_KEYS))
TYPES = st.one_of(
    SCALARS,
    SCALARS.map(lambda kind: f"list[{kind}]"),
    SCALARS.map(lambda kind: f"{kind} | None"),
    SCALARS.map(lambda kind: f"Json[{kind}]"),
    SCALARS.map(lambda kind: f"Secret[{kind}]"),
    st.builds(lambda one, other: f"tuple[{one}, {other}]", SCALARS, SCALARS),
    KEYS.map(lambda kind: f"Annotated[dict[{kind}, int], Field(max_length=1)]"),
)


def check(case: Any) -> None:
    """Texts of random walks are read, and what pydantic writes of their values is a text again."""
    kind = evaluated(case["type"])
    adapter = pydantic.TypeAdapter(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            constraint = constrain.json_schema(adapter)
        except constrain.UnsatisfiableError:
            return  # two bounds with nothing between them
    assert not constraint.untold, constraint.untold
    compiled = constrain.compile(constraint, VOCABULARY)
    for seed in range(WALKS):
        text = walk(compiled, random.Random(f"{case['seed']} {seed}"))
        if text is None:
            continue
        assert refusal(adapter, text) is None, text
        if not any(word in case["type"] for word in NOT_WRITTEN):
            again = adapter.dump_json(adapter.validate_json(text)).decode()
            assert constraint.accepts(again), (text, again)
    outputs = constrain.generate(
        constrain.reference.load(), "Schema: {} JSON: ", type=kind, n=DRAWS, seed=case["seed"], max_tokens=60
    )
    for output in outputs:
        assert output.finish_reason in ("stop", "length") and not output.stats.retries, (output.text, output.fault)


CASES = st.fixed_dictionaries({"type": TYPES, "seed": st.integers(0, 2**32)})
TARGETS = [Target("types", CASES, check, 15)]
