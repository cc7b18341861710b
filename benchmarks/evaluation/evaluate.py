"""One engine on one task: compile, write, judge; as one record.

file, dataset
asked                       was the model asked to write? If not, only the instances were judged
compile_s                   seconds; None if the engine refused the schema, or failed at it
outcome                     "stop", "length", "dead_end"; "discarded": finished, and thrown away by the engine's own
                            check; None if the engine failed
valid, fault                does the finished text validate under `jsonschema`, formats checked? what is wrong?
text, tokens                what was written, and its length, end of text included
first_s, steps_s, masks_s   see decode.Written
exact, leaf_f1              scores against the known instance (tasks.py); 0 for an unfinished answer; None: no such
right, wrong                of the file's instances, how many the engine judged right, by its masks
first_mask_us, token_us     along the instances: the first mask; a mask and a commit, the mean of all tokens
log_p, log_q, known_tokens  likelihood of the known instance (decode.likelihood); log_q None where it was refused
error, stage, message       "compile", "timeout", "memory", "fault", "crash" or None, and where: "compile", "write",
                            "instances"
"""

from __future__ import annotations

import json
import time
import zlib
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from evaluation.decode import Subject, Unconstrained, likelihood, write
from evaluation.tasks import Task, canonical, empty_record, first_value, leaf_f1
from masks.interface import CompileError, Engine
from masks.limits import TimeLimitError, time_limit
from masks.measure import CLOCKS, accepts


@dataclass(frozen=True)
class Options:
    """The settings of a model's decoding. time_limit: seconds for one task.

    seed: with the file's name, of what is drawn.
    retries: how often an output is sampled again that the engine's own check throws away; not at temperature 0, where
    it would come out the same.
    """

    max_tokens: int
    temperature: float
    seed: int
    time_limit: float
    retries: int


def evaluate(engine: Engine, subject: Subject, task: Task, options: Options, asked: bool = True) -> dict[str, Any]:
    """The record of one engine on one task. asked: the model writes; else only the instances are judged."""
    record = empty_record(task) | {"asked": asked}
    stage = "compile"
    try:
        with time_limit(options.time_limit):
            begin = time.perf_counter()
            engine.compile(task.schema)
            record["compile_s"] = time.perf_counter() - begin
            if asked:
                stage = "write"
                _write(engine, subject, task, options, record)
            if not isinstance(engine, Unconstrained):
                stage = "instances"
                _judge(engine, subject, task, record)
    except CompileError as error:
        record |= {"error": "compile", "stage": stage, "message": str(error)}
    except TimeLimitError:
        record |= {"error": "timeout", "stage": stage, "message": f"over {options.time_limit:g} s"}
    except MemoryError:
        record |= {"error": "memory", "stage": stage, "message": "more memory than the engine may have"}
    except Exception as error:  # whatever an engine raises is a finding, not the end of the run
        record |= {"error": "fault", "stage": stage, "message": f"{type(error).__name__}: {error}"}
    return record


def _write(engine: Engine, subject: Subject, task: Task, options: Options, record: dict[str, Any]) -> None:
    """Let the model write under the engine's masks; score what came out."""
    prompt = subject.prompt_ids(task.prompt)
    seed = options.seed + zlib.crc32(task.file.encode())
    attempts = 1 if options.temperature == 0 else 1 + options.retries
    for attempt in range(attempts):
        written = write(subject, engine, prompt, options.max_tokens, options.temperature, seed + attempt)
        text = b"".join(subject.vocabulary.tokens[token] or b"" for token in written.tokens).decode(errors="replace")
        outcome = written.outcome
        if outcome == "stop" and not engine.check(text):
            outcome = "discarded"
        if outcome != "discarded":
            break
    record |= {"outcome": outcome, "text": text, "tokens": len(written.tokens), "retries": attempt}
    record |= {"first_s": written.first_s, "steps_s": _micro(written.steps_s), "masks_s": _micro(written.masks_s)}
    values = _value(text) if outcome == "stop" else []
    if isinstance(engine, Unconstrained):
        values = first_value(text)  # the model alone need not know where to end
    record["fault"] = invalid(task.schema, values[0]) if values else "no JSON value"
    record["valid"] = record["fault"] is None
    if task.instance:
        truth = task.instance[0]
        record["exact"] = bool(values) and canonical(values[0]) == canonical(truth)
        record["leaf_f1"] = leaf_f1(values[0], truth) if values else 0.0


def _micro(seconds: list[float]) -> list[float]:
    """Rounded to 0.1 µs."""
    return [round(s, 7) for s in seconds]


def _value(text: str) -> list[Any]:
    """The JSON value of a whole text in a list of one, or an empty list."""
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []


def invalid(schema: Any, value: Any) -> str | None:
    """None, or what the `jsonschema` package says is wrong with the value; formats are checked."""
    import jsonschema  # an extra, which --help does without
    from jsonschema.validators import validator_for

    kind = validator_for(schema, default=jsonschema.Draft202012Validator)
    error = next(kind(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(value), None)
    return None if error is None else f"{error.json_path}: {error.message[:200]}"


def _judge(engine: Engine, subject: Subject, task: Task, record: dict[str, Any]) -> None:
    """Judge the instances of the file, and how likely the known one is under the masks."""
    right, clock = 0, CLOCKS["wall"]
    times: dict[str, Any] = {"mask_us": [], "tbm_us": [], "first_mask_us": None}
    for text, valid in task.tests:
        accepted = accepts(engine, subject.vocabulary.encode(text), times, clock) and engine.check(text)
        right += accepted == valid
    record |= {"right": right, "wrong": len(task.tests) - right, "first_mask_us": times["first_mask_us"]}
    record["token_us"] = round(fmean(times["tbm_us"]), 2) if times["tbm_us"] else None
    if not task.instance or not record["asked"]:
        return
    prompt = subject.prompt_ids(task.prompt)
    text = json.dumps(task.instance[0], ensure_ascii=False)
    length = len(prompt) + len(subject.vocabulary.encode(text))
    if subject.handle.context is None or length <= subject.handle.context:
        record["log_p"], record["log_q"], record["known_tokens"] = likelihood(subject, engine, prompt, text)
