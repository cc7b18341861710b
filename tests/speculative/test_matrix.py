"""Every cell of method, rule, drafter, constraint and processors works, or is refused with a reason.

What is accepted is used: drafters are asked, rules are asked, processors change the output."""

import itertools
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from matrix_cases import CONSTRAINT, DRAFTER, METHOD, PROCESSORS, PROMPT, RULE, Cell, handle, rendered

import constrain
from constrain.errors import ConstrainError
from constrain.sampling import METHODS, Faithful
from constrain.sampling.processors import MinP

PAIRS = [(method, rule) for method in METHOD for rule in RULE]
WORKING = [pair for pair in PAIRS if not Cell(*pair).refused]


def sample(seed: int) -> list[Cell]:
    """Every working pair of method and rule, with some drafter, constraint and processors."""
    lists = list(DRAFTER), CONSTRAINT, list(PROCESSORS)
    return [
        Cell(*pair, *(each[(number * step + seed) % len(each)] for step, each in zip((1, 2, 3), lists, strict=True)))
        for number, pair in enumerate(WORKING)
    ]


def grid() -> list[Cell]:
    """Every working pair with every drafter, and with a third of constraints × processors, another one for the next."""
    found = [
        Cell(*pair, *rest)
        for place, pair in enumerate(WORKING)
        for rest in list(itertools.product(["words"], CONSTRAINT, PROCESSORS))[place % 3 :: 3]
    ]
    lists = CONSTRAINT, list(PROCESSORS)
    for number, (pair, drafter) in enumerate(itertools.product(WORKING, DRAFTER)):
        found.append(Cell(*pair, drafter, *(each[number % len(each)] for each in lists)))
    return found


@cache
def undrafted(method: str, constraint: str, processors: str) -> constrain.generation.Generation:
    """The output without drafts: the same beside every rule and drafter."""
    arguments = Cell(method, "match", constraint=constraint, processors=processors).arguments()
    return constrain.generate(handle(), PROMPT, draft=False, **arguments)


def check(cell: Cell) -> None:
    """A cell that is accepted: everything that was given is asked, and the output is one of the language."""
    speculation, asked, judging = cell.speculation()
    found = constrain.generate(handle(), PROMPT, draft=speculation, **cell.arguments())
    assert asked.asked > 0
    assert (judging.trees > 0) is cell.verifies
    counts = found.stats.drafts
    assert counts[asked.name].fault is None
    assert all(0 <= count.accepted <= count.drafted for count in counts.values())
    assert found.finish_reason in ("stop", "length", "budget", "dead_end")
    if cell.rule.removeprefix("fused-") != "match":
        return
    plain = undrafted(cell.method, cell.constraint, cell.processors)
    assert (found.tokens, found.finish_reason, found.value) == (plain.tokens, plain.finish_reason, plain.value)
    assert found.logprob == pytest.approx(plain.logprob, abs=1e-6)
    same = pytest.approx(plain.log_weight, abs=1e-6, nan_ok=True)
    assert found.log_weight == same


@pytest.mark.parametrize("cell", sample(0), ids=str)
def test_working_cells(cell: Cell) -> None:
    check(cell)


@pytest.mark.slow
@pytest.mark.parametrize("cell", grid(), ids=str)
def test_all_cells(cell: Cell) -> None:
    check(cell)


@pytest.mark.parametrize("method", METHOD)
def test_refused_cells(method: str) -> None:
    """The reason comes before a model is read, whatever the drafter, the constraint and the processors."""
    assert METHOD.keys() == METHODS.keys()
    for number, rule in enumerate(RULE):
        cell = Cell(method, rule, list(DRAFTER)[number % 8], CONSTRAINT[number % 5], list(PROCESSORS)[number % 4])
        if cell.refused:
            with pytest.raises(ConstrainError, match=f"(?s)^{re.escape(cell.refused)}\n.*  fix: "):
                constrain.generate("no model", PROMPT, draft=cell.speculation()[0], **cell.arguments())


def test_the_docs_have_the_table(repository: Path) -> None:
    assert rendered() in (repository / "docs" / "speculative.md").read_text(encoding="utf-8"), rendered()


@pytest.mark.parametrize(
    "drafter", [name for name in DRAFTER if name != "self"]
)  # two layers leave none that pays: it is silent
def test_every_drafter_drafts_under_methods_that_read_ahead(drafter: str) -> None:
    """Counts of what was read, also of logits that processors have changed."""
    drafted = 0
    for method, processors in (("smc", "none"), ("asap", "mirostat"), ("awrs", "min-p")):
        cell = Cell(method, "match", drafter, "regex", processors)
        speculation, asked, _ = cell.speculation()
        arguments = cell.arguments(regex="(red|green| ){8}", max_tokens=10)
        found = constrain.generate(handle(), PROMPT, draft=speculation, **arguments)
        drafted += found.stats.drafts[asked.name].drafted
    assert drafted > 0


@pytest.mark.parametrize(
    "options, chosen",
    [({}, "exact"), ({"prefixes": 0, "attempts": 999}, "cars"), ({"prefixes": 0, "attempts": 0}, "sir")],
)
@pytest.mark.parametrize("rule", ["match", "token", "fused-match"])
def test_what_faithful_chooses_drafts(options: dict[str, Any], chosen: str, rule: str) -> None:
    """Under `exact` and `cars`, which choose tokens themselves, drafts are read ahead; a rule verifies under `sir`."""
    cell = Cell("faithful", rule, "model")
    speculation, asked, judging = cell.speculation()
    arguments = cell.arguments(method=Faithful(**options, pilot=2), regex="red (age|00)")
    found = constrain.generate(handle(), PROMPT, draft=speculation, **arguments)
    assert found.stats.method.startswith(chosen)
    assert asked.asked > 0
    assert (judging.trees > 0) is (chosen == "sir" and rule != "match")


@pytest.mark.parametrize("method", METHOD)
def test_processors_change_what_is_read_ahead(method: str) -> None:
    """`min-p` of 1 leaves the likeliest token alone, under every method; drafts see no other logits."""
    given = Cell(method, "match").arguments(regex="(red|age|name){2}", processors=MinP(1.0))
    found = constrain.generate(handle(), PROMPT, draft=["words", handle(1)], **given)
    assert found.tokens == constrain.generate(handle(), PROMPT, draft=False, **given).tokens
    greedy = constrain.generate(handle(), PROMPT, **{**given, "method": "lcd", "temperature": 0})
    assert found.tokens == greedy.tokens or found.finish_reason == "budget"
    assert found.stats.drafts["model"].drafted > 0
