"""One task by one arm, as one record.

id, task, item, arm    of the record; `item` is the row
finish, text           how the output ended, and what it says: the last one of `repair`, the chosen one of several
parsed, valid, right   an answer was found; it is valid; it is right. Nothing unfinished is, but in a free text
fault                  why not
parts                  right fields or arguments, of all
tokens, forwards       of all outputs that the answer took; under a method forwards are those of all particles
seconds                of CPU, prompt included; of vLLM's arms the mean over all answers, as `forwards`
log_mass               of the allowed tokens, summed over the output: 0 means that the model wanted nothing else
error                  the engine refused the constraint: the message
"""

from __future__ import annotations

import json
import time
import zlib
from dataclasses import replace
from typing import Any, NamedTuple

import constrain
from constrain.generation.handles import Handle
from masks.interface import CompileError
from tasks.arms import ANSWER, ARMS, Arm, constraint_of
from tasks.peers import Peer
from tasks.task import Score, Task

MORE = 80  # tokens for thoughts
THINK = {
    "field": '\nAnswer with JSON: {"reasoning": think in a few words, "answer": the answer}.',
    "text": f"\nThink in one or two sentences. Then write {ANSWER.strip()} and the answer.",
}


class Subject(NamedTuple):
    """The model under test.

    peers: the engines of other libraries by name. chat: prompts are messages. temperature: where an arm has none
    """

    handle: Handle
    peers: dict[str, Peer]
    chat: bool
    temperature: float = 0.0


def record(subject: Subject, name: str, task: Task) -> dict[str, Any] | None:
    """The record of a task by an arm; None: the arm does not apply."""
    arm = ARMS[name]
    begun = time.process_time()
    try:
        found = _answered(subject, arm, task)
    except CompileError as error:
        found = {**NOTHING, "error": str(error)[:200]}
    if found is None:
        return None
    seconds = time.process_time() - begun
    key = {"id": f"{task.name} {name}", "task": task.kind, "item": task.name.split()[1], "arm": name}
    return {**key, **found, "seconds": round(seconds, 3)}


NOTHING: dict[str, Any] = {
    "finish": "refused", "text": "", "parsed": False, "valid": False, "right": False, "fault": "", "parts": (0, 0),
    "tokens": 0, "forwards": 0, "log_mass": None,
}  # fmt: skip


def _answered(subject: Subject, arm: Arm, task: Task) -> dict[str, Any] | None:
    given: dict[str, Any] | None = {}
    if arm.engine == "constrain":
        given = constraint_of(arm, task)
    elif arm.engine != "free":
        made = subject.peers[arm.engine].constraint(task)
        given = None if made is None else {"constraint": made}
    if given is None:
        return None
    seed = zlib.crc32(task.name.encode())  # one a question: under one seed for all, draws would err together
    settings = {"temperature": subject.temperature, "max_tokens": task.tokens, "seed": seed, **given, **arm.given}
    if arm.reason:
        settings["max_tokens"] += MORE
        task = replace(task, told=f"{task.told}{THINK[arm.reason]}".strip(), shots=())  # the examples have no thoughts
    more: list[dict[str, str]] = []
    tokens = forwards = 0
    for attempt in range(arm.repairs + 1):
        g, spent = _written(subject, arm, task, more, settings)
        tokens, forwards = tokens + spent[0], forwards + spent[1]
        judged = judge(arm, task, g.finish_reason, g.text)
        if judged["valid"] or attempt == arm.repairs:
            break
        fault = judged["fault"] or "no answer was found"
        more += [
            {"role": "assistant", "content": g.text},
            {"role": "user", "content": f"This is not valid: {fault}\n{task.again}"},
        ]
    mass = sum(each.log_z for each in g.trace) if g.trace and arm.engine != "free" else None
    return {
        "finish": g.finish_reason, "text": g.text, **judged, "tokens": tokens, "forwards": forwards,
        "log_mass": None if mass is None else round(mass, 2),
    }  # fmt: skip


def _written(
    subject: Subject, arm: Arm, task: Task, more: list[dict[str, str]], settings: dict[str, Any]
) -> tuple[Any, tuple[int, int]]:
    """(an output, (tokens, forwards) of all that it took)"""
    prompt = task.prompt(subject.chat, more)
    if arm.describe:
        prompt = constrain.Prompt(prompt, describe=True)
    outputs = constrain.generate(subject.handle, prompt, n=arm.samples, **settings)
    if arm.samples == 1:
        return outputs, (outputs.stats.tokens, outputs.stats.forwards)
    ended = [each for each in outputs if each.finish_reason == "stop"]
    if not ended:
        best = outputs[0]
    elif arm.pick == "vote":
        best = outputs.vote().voters[0][0]
    else:
        best = max(ended, key=lambda each: each.logprob)
    return best, (sum(each.stats.tokens for each in outputs), outputs[0].stats.forwards)


def judge(arm: Arm, task: Task, finish: str, text: str) -> dict[str, Any]:
    """The worth of an output: `parsed`, `valid`, `right`, `fault`, `parts`."""
    free = not arm.constraint or arm.engine == "free"
    if arm.reason == "text":
        text = text.partition(ANSWER)[2]
    value = task.read(text, free) if free or task.goes_on or finish == "stop" else None
    if arm.reason == "field" and value is not None:
        value = json.loads(text)["answer"]
    fault = f"no answer ({finish})" if value is None else task.fault(value)
    scored = Score(False) if value is None or fault else task.judge(value)
    told = (fault or scored.why)[:200]
    verdict = {"parsed": value is not None, "valid": fault is None, "right": scored.right}
    return {**verdict, "fault": told, "parts": scored.parts}
