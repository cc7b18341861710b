"""The ways to get an answer, as one table. All have the same questions, limits of tokens, and a seed for each question.

Temperature 0 but where the arm says otherwise. What a form of answers has no use for is left out: `CONSTRAINTS` has the
constraint of our arms for each form, and None where an arm does not apply.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import constrain
from constrain.monitors.reading import MonitorReading
from constrain.papers import Retrying
from tasks.python_names import is_sound
from tasks.sql import QUERIES
from tasks.task import ChoiceTask, JsonTask, Task


class Arm(NamedTuple):
    """about: for the page. engine: "constrain", "free", one of `peers.ENGINES`, or "vllm". given: more for `generate`.

    options: of `json_schema`. describe: the prompt tells the schema. reason: thoughts before the answer: "field", in
    the same object, or "text", before the word `ANSWER`. repairs: how often an answer that is not valid is asked for
    again. samples: how many answers are drawn. pick: of these, the most frequent ("vote") or the likeliest one.
    serve: of vLLM's `LLM` (tasks/served.py).
    """

    about: str
    engine: str = "constrain"
    given: dict[str, Any] = {}  # noqa: RUF012
    options: dict[str, Any] = {}  # noqa: RUF012
    describe: bool = False
    reason: str = ""
    repairs: int = 0
    samples: int = 1
    pick: str = ""
    constraint: str = "default"
    serve: dict[str, Any] = {}  # noqa: RUF012


WARM = {"temperature": 0.7}
DRAFTS = {
    "method": "custom_class",
    "model": "constrain.engines.vllm.drafter.ConstraintDrafter",
    "num_speculative_tokens": 8,
}
ARMS = {
    "free": Arm("no constraint; the first answer in the text counts", "free"),
    "repair": Arm("free, and once more with the fault told, where the answer is not valid", "free", repairs=1),
    "default": Arm("`generate(…, schema=)`, `type=`, `choices=`; a grammar of the collection for SQL and Python"),
    "complete": Arm("default, and the text has to end within the limit", given={"complete": True}),
    "compact": Arm("no white space", options={"whitespace": "compact"}),
    "any-order": Arm("keys in any order", options={"property_order": "any"}),
    "describe": Arm("`Prompt(describe=True)`: the prompt tells the schema", describe=True),
    "canonical": Arm("default, `canonical=True`", given={"canonical": True}),
    "all-tokens": Arm("default, `canonical=False`", given={"canonical": False}),
    "undrafted": Arm("default, `draft=False`", given={"draft": False}),
    "reasoning": Arm("`reasoning`, a text of at most 240 characters, then the answer, in one object", reason="field"),
    "thoughts": Arm("at most 60 tokens of text, `Answer:`, then the answer: `constrain.after`", reason="text"),
    "monitor": Arm("the grammar, and only names that exist", constraint="monitor"),
    "monitor-complete": Arm("monitor, `complete=True`", constraint="monitor", given={"complete": True}),
    "subset": Arm("the grammar that the two peers read, in our engine", constraint="subset"),
    "vote": Arm("the most frequent of 5 answers at temperature 0.7", given=WARM, samples=5, pick="vote"),
    "best": Arm("the likeliest of 5 answers at temperature 0.7", given=WARM, samples=5, pick="likeliest"),
    "sampled": Arm("masked sampling at temperature 1", given={"temperature": 1.0}),
    "sir": Arm("`method='sir'` at temperature 1", given={"temperature": 1.0, "method": "sir"}),
    "smc": Arm("`method='smc'` at temperature 1", given={"temperature": 1.0, "method": "smc"}),
    "awrs": Arm("`method='awrs'` at temperature 1", given={"temperature": 1.0, "method": "awrs"}),
    "asap": Arm("`method='asap'` at temperature 1", given={"temperature": 1.0, "method": "asap"}),
    "retry": Arm("sampled, and what the monitor or CPython refuses is written again (IterGen)",
                 constraint="retry", given={"temperature": 1.0}),
    "monitor-sampled": Arm("monitor, at temperature 1", constraint="monitor", given={"temperature": 1.0}),
    "monitor-smc": Arm("monitor, `method='smc'` at temperature 1", constraint="monitor",
                       given={"temperature": 1.0, "method": "smc"}),
    "monitor-awrs": Arm("monitor, `method='awrs'` at temperature 1", constraint="monitor",
                        given={"temperature": 1.0, "method": "awrs"}),
    "xgrammar": Arm("masks of XGrammar", "xgrammar"),
    "llguidance": Arm("masks of llguidance", "llguidance"),
    "outlines-core": Arm("masks of outlines-core", "outlines-core"),
    "vllm-free": Arm("vLLM, no constraint", "vllm", constraint=""),
    "vllm": Arm("vLLM, masks of constrain", "vllm", serve={"additional_config": {"constrain": {}}}),
    "vllm-drafts": Arm(
        "vLLM, masks and drafts of constrain", "vllm",
        serve={"additional_config": {"constrain": {}}, "speculative_config": DRAFTS},
    ),
    "vllm-complete": Arm(
        "vLLM, masks and drafts of constrain, and each text ends within the limit", "vllm",
        serve={"additional_config": {"constrain": {"complete": True}}, "speculative_config": DRAFTS},
    ),
    "vllm-xgrammar": Arm("vLLM, XGrammar", "vllm", serve={"structured_outputs_config": {"backend": "xgrammar"}}),
    "vllm-guidance": Arm("vLLM, llguidance", "vllm", serve={"structured_outputs_config": {"backend": "guidance"}}),
}  # fmt: skip
REASONING = {"type": "string", "maxLength": 240}
ANSWER = "\nAnswer: "
THOUGHTS = 60  # tokens


def constraint_of(arm: Arm, task: Task) -> dict[str, Any] | None:
    """The arguments of `generate` that say our constraint; None: the arm does not apply to the task."""
    made = CONSTRAINTS.get((task.form, arm.constraint))
    return None if made is None else made(arm, task)


def _json(arm: Arm, task: JsonTask) -> dict[str, Any] | None:
    if arm.reason == "text":
        answer = constrain.json_schema(task.wanted, undeclared="avoid")
        return {"constraint": constrain.after(ANSWER, answer, max_tokens=THOUGHTS)}
    if arm.reason:
        properties = {"reasoning": REASONING, "answer": task.schema}
        return {"schema": {"type": "object", "properties": properties, "required": list(properties)}}
    if arm.options:
        return {"constraint": constrain.json_schema(task.wanted, undeclared="avoid", **arm.options)}
    return {"type" if isinstance(task.wanted, type) else "schema": task.wanted}


def _choice(arm: Arm, task: ChoiceTask) -> dict[str, Any] | None:
    if arm.reason == "text":
        return {"constraint": constrain.after(ANSWER, constrain.choices(list(task.choices)), max_tokens=THOUGHTS)}
    if arm.reason:
        properties = {"reasoning": REASONING, "answer": {"enum": list(task.choices)}}
        return {"schema": {"type": "object", "properties": properties, "required": list(properties)}}
    return None if arm.options or arm.describe else {"choices": list(task.choices)}


def _text(name: str, monitor: Callable[[Any], Any] | None = None) -> Callable[[Arm, Any], dict[str, Any] | None]:
    """The constraint by a grammar of the collection, and by a monitor."""

    def made(arm: Arm, task: Any) -> dict[str, Any] | None:
        if arm.options or arm.describe or arm.reason:
            return None
        grammar = _grammar(name)
        return {"constraint": constrain.monitors.monitored(grammar, monitor(task)) if monitor else grammar}

    return made


@cache
def _grammar(name: str) -> Any:
    folder = constrain.collection.folder(name)
    return folder.constraint(**(folder.generation or {"start": "function"}))


@cache
def _subset() -> Any:
    return constrain.grammar(QUERIES["lark"], lexer="greedy")


def _sql_monitor(task: Any) -> Any:
    return constrain.monitors.sql(task.catalogue, ahead="known")


def _retried_sql(arm: Arm, task: Any) -> dict[str, Any]:
    """A lexeme is written again where the monitor, which makes no masks here, refuses the text."""
    reading = MonitorReading(_sql_monitor(task))
    method = Retrying(lambda text: reading.step(reading.start(), text.encode()) is not None, boundary="lexeme")
    return {"constraint": _grammar("sql"), "method": method}


def _retried_python(arm: Arm, task: Any) -> dict[str, Any]:
    """A line is written again where CPython's own analysis finds a fault."""
    method = Retrying(lambda text: is_sound(f"{task.before}\n{text}"))
    return {"constraint": _grammar("python"), "method": method}


CONSTRAINTS: dict[tuple[str, str], Callable[[Arm, Any], dict[str, Any] | None]] = {
    ("json", "default"): _json,
    ("choice", "default"): _choice,
    ("sql", "default"): _text("sql"),
    ("sql", "monitor"): _text("sql", _sql_monitor),
    ("sql", "retry"): _retried_sql,
    ("sql", "subset"): lambda arm, task: {"constraint": _subset()},
    ("python", "default"): _text("python"),
    ("python", "monitor"): _text("python", lambda task: constrain.monitors.python(objects=task.objects, ahead="known")),
    ("python", "retry"): _retried_python,
}
