"""The same tasks by vLLM, an arm a process: what each of its backends of structured outputs answers, and its price.

vLLM answers all questions in batches of `BATCH`, so tokens are an answer's own, while rows of the model and CPU seconds
(of the worker and the front; the engine waits in a loop) are means over all answers. The counts of a run are steps of
the engine, drafted and accepted tokens, and CPU seconds by process.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from masks.summary import table
from tasks.answer import NOTHING, judge
from tasks.arms import ARMS, Arm
from tasks.task import ChoiceTask, JsonTask, Task

BATCH = 16
CHECKED = ("draft", "accepted")


class Settings(NamedTuple):
    """model: a folder. chat: prompts are messages. temperature: of all answers."""

    model: str
    chat: bool
    temperature: float


def records(arm: str, tasks: Sequence[Task], settings: Settings) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The records of an arm, and the counts of the run. Tasks without JSON or choices have none."""
    asked = [task for task in tasks if isinstance(task, JsonTask | ChoiceTask)]
    outputs, counts = answered(ARMS[arm], asked, settings)
    tokens = [len(output.token_ids) for output in outputs]
    rows = (sum(tokens) - counts["accepted"]) / max(1, len(asked))
    seconds = (counts.get("worker", 0.0) + counts.get("front", 0.0)) / max(1, len(asked))
    found = []
    for task, output, taken in zip(asked, outputs, tokens, strict=True):
        key = {"id": f"{task.name} {arm}", "task": task.kind, "item": task.name.split()[1], "arm": arm}
        said = {"finish": output.finish_reason, "text": output.text, "tokens": taken, "forwards": round(rows, 2)}
        judged = judge(ARMS[arm], task, output.finish_reason, output.text)
        found.append({**key, **NOTHING, **said, **judged, "seconds": round(seconds, 3)})
    return found, counts


def answered(arm: Arm, tasks: Sequence[Task], settings: Settings) -> tuple[list[Any], dict[str, Any]]:
    """vLLM's outputs, and the counts of the run."""
    from vllm import LLM, SamplingParams

    llm = LLM(
        settings.model, dtype="float32", enforce_eager=True, max_model_len=4096, max_num_seqs=BATCH, seed=0,
        disable_log_stats=False, gpu_memory_utilization=0.3, **arm.serve,
    )  # fmt: skip  # the share of memory: others may use the machine
    sampling = [
        SamplingParams(
            temperature=settings.temperature, max_tokens=task.tokens, seed=zlib.crc32(task.name.encode()),
            structured_outputs=wanted(arm, task),
        )
        for task in tasks
    ]  # fmt: skip
    prompts: list[Any] = [task.prompt(settings.chat) for task in tasks]
    before = cpu_seconds()
    outputs = llm.chat(prompts, sampling) if settings.chat else llm.generate(prompts, sampling)
    after = cpu_seconds()
    metrics = {metric.name: metric for metric in llm.get_metrics()}
    drafted, accepted = (getattr(metrics.get(f"vllm:spec_decode_num_{each}_tokens"), "value", 0) for each in CHECKED)
    counts = {"steps": metrics["vllm:iteration_tokens_total"].count, "drafted": drafted, "accepted": accepted}
    counts |= {name: round(after[name] - before.get(name, 0.0), 2) for name in sorted(after)}
    llm.llm_engine.engine_core.shutdown()
    return [output.outputs[0] for output in outputs], counts


def wanted(arm: Arm, task: Task) -> Any:
    """vLLM's constraint for a task. Other backends get closed schemas where they do not close objects by themselves."""
    from vllm.sampling_params import StructuredOutputsParams

    if not arm.constraint:
        return None
    if isinstance(task, ChoiceTask):
        return StructuredOutputsParams(choice=list(task.choices))
    assert isinstance(task, JsonTask)
    return StructuredOutputsParams(json=task.schema if "additional_config" in arm.serve else task.closed)


def cpu_seconds() -> dict[str, float]:
    """CPU seconds of this process and of those below it, by their names."""
    import psutil

    spent = {"front": sum(psutil.Process().cpu_times()[:2])}
    for child in psutil.Process().children(recursive=True):
        name = " ".join(child.cmdline()).lower()
        kind = "worker" if "worker" in name else "engine" if "engine" in name else ""
        if kind:
            spent[kind] = spent.get(kind, 0.0) + sum(child.cpu_times()[:2])
    return spent


def table_of(runs: Sequence[dict[str, Any]]) -> str:
    """The table of runs: number of answers, and what the engine and its processes took."""
    head = {"arm": "arm", "answers": "answers", "steps": "steps", "drafted": "drafted", "accepted": "accepted"}
    head |= {each: f"CPU s, {each}" for each in ("worker", "front", "engine")}
    return table([*head.values()], [[str(run.get(name, "")) for name in head] for run in runs])
