"""Drafts by method, rule, drafter, constraint and processors: the arguments of each cell, and the table of the docs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pydantic

import constrain
from constrain.errors import ConstrainError
from constrain.generation.request.drafts import check_draft
from constrain.models.hf import HFModel
from constrain.papers import EarlyExit, Heads, Retrieval, SelfDraft, TextStore
from constrain.papers.heads import DraftHeads
from constrain.sampling import CARS, MCMC, METHODS, SIR, SMC, ASAp, Beam, Draw, Faithful, Rejection, lcd
from constrain.sampling.core.sampler import traits_of
from constrain.sampling.fused.batch import RULES as FUSED
from constrain.sampling.processors import MinP, Mirostat, Repetition
from constrain.speculative import (
    NAMED,
    VERIFIERS,
    Case,
    Context,
    DraftBudget,
    Drafter,
    DraftTree,
    Fixed,
    Model,
    Speculation,
    Verdict,
    Verifier,
    drafter_named,
    verifier_named,
)
from constrain.speculative.fused import Fused
from constrain.speculative.verifiers import LOSSY, WEIGHING
from toy_model import tiny_llama, tiny_tokenizer

PROMPT = "red green red green name 00"
TEXTS = ["red green red a red", '["red", 1, "red"]', "select a,bc from t"]
METHOD: dict[str, Callable[[], Any]] = {  # all names of METHODS, where it helps with options that make them cheap
    **{name: lambda name=name: METHODS[name] for name in METHODS},
    "asap": lambda: ASAp(warmup=1),
    "beam": lambda: Beam(width=2),
    "cars": lambda: CARS(attempts=400),
    "faithful": lambda: Faithful(prefixes=0, attempts=0, pilot=2),  # it chooses `sir`
    "mcmc": lambda: MCMC(steps=2),
    "rejection": lambda: Rejection(attempts=2000),
    "sir": lambda: SIR(samples=2),
    "smc": lambda: SMC(particles=2),
}
RULE = [*sorted(VERIFIERS), *(f"fused-{rule}" for rule in sorted(FUSED)), *LOSSY, *WEIGHING]
CONSTRAINT = ["schema", "regex", "CFG", "monitor", "validator"]
PROCESSORS: dict[str, Callable[[], Any]] = {
    "none": list,
    "min-p": lambda: MinP(0.1),  # looks at the scores alone
    "repetition": lambda: Repetition(1.3),  # looks at the text
    "mirostat": lambda: Mirostat(0.8, 0.6),  # keeps a state, and reads the scores of every token
}


@cache
def handle(seed: int = 0) -> HFModel:
    """A random Llama of two layers."""
    tokenizer = tiny_tokenizer()
    return HFModel(tiny_llama(tokenizer, seed), tokenizer)


class Even(pydantic.BaseModel):
    n: int = pydantic.Field(ge=0, le=7)

    @pydantic.field_validator("n")
    @classmethod
    def is_even(cls, n: int) -> int:
        if n % 2:
            raise ValueError("odd")
        return n


@cache
def constrained_by(name: str, few: bool) -> dict[str, Any]:
    """The argument of `generate` that has a constraint of this kind. few: it has few prefixes"""
    if name == "monitor":
        grammar = constrain.grammar('start: "select " /[a-d]{1,2}/ ("," /[a-d]{1,2}/)~1..3 " from t"')
        tables = constrain.monitors.sql({"t": ["a", "bc", "d"]}, ahead="known")
        return {"constraint": constrain.monitors.monitored(grammar, tables)}
    inner = '("a" "age" "b" | "age")' if few else "start"
    given: dict[str, dict[str, Any]] = {
        "schema": {
            "schema": {"type": "array", "items": {"enum": ["red", 1]}, "minItems": 2, "maxItems": 2 if few else 3}
        },
        "regex": {"regex": "(red|a) ?(age|a)" if few else "((red|green|a) ?){2,3}"},
        "CFG": {"grammar": f'start: "a" {inner} "b" | "red" {inner} | "age"'},
        "validator": {"type": Even},
    }
    return given[name]


DRAFTER: dict[str, Callable[[], Drafter]] = {
    **{name: lambda name=name: drafter_named(name) for name in NAMED},
    "model": lambda: Model(handle(1), width=2),
    "retrieval": lambda: Retrieval(TextStore([handle().tokenizer(text)["input_ids"] for text in TEXTS])),
    "self": lambda: SelfDraft(handle(), trials=2),
    "exit": lambda: EarlyExit(handle(), keep=1),
    "heads": lambda: Heads(DraftHeads(handle(), depth=2)),
}


class Asked(Drafter):
    """A drafter that counts how many trees it was asked for."""

    def __init__(self, inner: Drafter) -> None:
        self.inner, self.asked = inner, 0
        self.name, self.wants_hidden = inner.name, inner.wants_hidden

    def propose(self, contexts: Sequence[Context], budgets: Sequence[DraftBudget]) -> list[DraftTree]:
        self.asked += len(contexts)
        return self.inner.propose(contexts, budgets)

    def observe(self, outcomes: Any) -> None:
        self.inner.observe(outcomes)


class Judging(Verifier):
    """A verifier that counts how many trees it was given, and those of the kernels."""

    def __init__(self, inner: Verifier) -> None:
        self.inner, self.trees = inner, 0
        self.name, self.lossless, self.draws = inner.name, inner.lossless, inner.draws
        self.weighs = inner.weighs

    def verify(self, cases: Sequence[Case], draw: Draw) -> list[Verdict]:
        self.trees += len(cases)
        return self.inner.verify(cases, draw)


@dataclass(frozen=True)
class Cell:
    method: str
    rule: str
    drafter: str = "words"
    constraint: str = "regex"
    processors: str = "none"

    def speculation(self, kernels: bool | None = None) -> tuple[Speculation, Asked, Judging]:
        """kernels: as of `Fused`."""
        fused = self.rule.removeprefix("fused-")
        rule = verifier_named(fused) if fused == self.rule else Fused(fused, kernels=kernels)
        asked, judging = Asked(DRAFTER[self.drafter]()), Judging(rule)
        lossy = not rule.lossless
        return Speculation(asked, verifier=judging, controller=Fixed(5, 3), lossy=lossy), asked, judging

    def arguments(self, **changes: Any) -> dict[str, Any]:
        """Of `generate`, but for the drafts."""
        own = constrained_by(self.constraint, few=self.method == "exact")
        given = {"method": METHOD[self.method](), "processors": PROCESSORS[self.processors](), "canonical": False}
        flat = {"temperature": 4.0} if self.method == "rejection" else {}  # the language has more of the mass
        return {**own, **given, **flat, "seed": 3, "max_tokens": 24, **changes}

    @property
    def refused(self) -> str:
        """The reason for which `generate` refuses the cell, or ""; constraint and processors have no say in it."""
        speculation, _, _ = self.speculation()
        try:
            check_draft(speculation, METHOD[self.method]())
        except ConstrainError as error:
            return str(error).split("\n", 1)[0]
        return ""

    @property
    def verifies(self) -> bool:
        """The rule chooses tokens, so that it is asked; else it is the method that chooses, and drafts are read."""
        method = METHOD[self.method]()
        return method is lcd or (traits_of(method).grows and self.rule != "match")


REASONS = {
    "1": "the verifier {rule} chooses tokens itself, and so does the method {method}",
    "2": "the verifier {rule} is lossy, and this method needs weights",
    "3": "the verifier {rule} draws by drafts and weighs, and the method {method} does not",
}
COLUMNS = {
    "`match`": ["match"],
    "the other rules": [rule for rule in sorted(VERIFIERS) if rule != "match"],
    "`Fused(…)`": [f"fused-{rule}" for rule in sorted(FUSED)],
    "`typical`, `Judge`": list(LOSSY),
    "`weighed`": list(WEIGHING),
}


def way(cell: Cell) -> str:
    """Tell in which way a cell works, or the number of the reason for which it does not."""
    if cell.refused:
        said = {"rule": repr(cell.rule), "method": repr(cell.method)}
        (number,) = [number for number, reason in REASONS.items() if reason.format(**said) == cell.refused]
        return f"no ({number})"
    if not cell.verifies:
        return "read ahead"
    return "verifies, where it draws by `sir`" if cell.method == "faithful" else "verifies"


def rendered() -> str:
    """The table of docs/speculative.md."""
    lines = [f"| method | {' | '.join(COLUMNS)} |", "|---|" + "---|" * len(COLUMNS)]
    for method in METHODS:
        ways = []
        for rules in COLUMNS.values():
            (same,) = {way(Cell(method, rule)) for rule in rules}
            ways.append(same)
        lines.append(f"| `{method}` | {' | '.join(ways)} |")
    reasons = [f"({number}) {reason.format(rule='…', method='…')}" for number, reason in REASONS.items()]
    return "\n".join([*lines, "", ";\n".join(reasons) + "."])
