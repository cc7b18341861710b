"""One engine on one MaskBench file: verdicts and times, as one record.

The protocol is MaskBench's (guidance-ai/jsonschemabench): an instance is written by `json.dumps(data,
ensure_ascii=False)` and encoded; for every token a mask is filled, the token's bit is looked up, and the token is
committed. Beyond MaskBench, a text counts as accepted only if the engine also lets it end there, and does not throw
the finished text away ("checked_off": what no mask can enforce, such as keys that repeat).

A record: {"file", "compile_us", "first_mask_us", "tbm_us": [fill + commit of each token], "mask_us": [fill alone],
"valid_ok", "valid_refused", "invalid_ok", "invalid_accepted", "checked_off", "error": kind or None, "message",
"peak_rss_mb"}; of a run as served also "read": [[tokens, accepted] of each instance], "again_us": as tbm_us, all
instances read once more, and "rehearsal_us" of an engine that rehearses. Kinds of error: "compile", "timeout",
"memory", "fault" (the engine raised, or contradicted itself), "crash" (its process died).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from masks.interface import CompileError, Engine, is_set
from masks.limits import TimeLimitError, peak_rss_mb, time_limit
from masks.vocabularies import BenchVocabulary

ERRORS = ("compile", "timeout", "memory", "fault", "crash")
VERDICTS = ("valid_ok", "valid_refused", "invalid_ok", "invalid_accepted", "checked_off")
CLOCKS: dict[str, Callable[[], int]] = {"wall": time.perf_counter_ns, "cpu": time.thread_time_ns}


def empty_record(file: str) -> dict[str, Any]:
    """A record in which nothing has happened yet."""
    nothing = dict.fromkeys(("compile_us", "first_mask_us", "error", "message"))
    return {"file": file, **nothing, **dict.fromkeys(VERDICTS, 0), "mask_us": [], "tbm_us": [], "peak_rss_mb": 0.0}


def measure(
    engine: Engine,
    vocabulary: BenchVocabulary,
    path: Path,
    clock: Callable[[], int],
    limit: float,
    served: bool = False,
) -> dict[str, Any]:
    """The record of one file. limit: seconds for the whole file, instances included. served: the schema is handed over
    as text, as a server receives it, and instances are read twice."""
    case = json.loads(path.read_text(encoding="utf-8"))
    tests = [(json.dumps(test["data"], ensure_ascii=False), test["valid"]) for test in case["tests"]]
    record = empty_record(path.name)
    try:
        with time_limit(limit):
            _compile(engine, json.dumps(case["schema"]) if served else case["schema"], record, clock)
            read = []
            for text, valid in tests:
                n_tokens, accepted = _read(engine, vocabulary.encode(text), record, clock)
                read.append([n_tokens, accepted])
                if accepted and not engine.check(text):
                    accepted = False
                    record["checked_off"] += not valid
                record[("valid_" if valid else "invalid_") + _verdict(valid, accepted)] += 1
            if not tests:  # so that every schema has a first mask
                engine.start()
                record["first_mask_us"] = _fill(engine, clock)
            if served:
                again = {**empty_record(path.name), "first_mask_us": 0.0}
                if read != [list(_read(engine, vocabulary.encode(text), again, clock)) for text, _ in tests]:
                    raise RuntimeError("the second reading of an instance differs")
                record |= {"read": read, "again_us": again["tbm_us"]}
                record["rehearsal_us"] = getattr(engine, "rehearsal_us", 0.0)
    except CompileError as error:
        record |= {"error": "compile", "message": str(error)}
    except TimeLimitError:
        stage = "compiling" if record["compile_us"] is None else "masks"
        record |= {"error": "timeout", "message": f"{stage}: over {limit:g} s"}
    except MemoryError:
        record |= {"error": "memory", "message": "the engine asked for more memory than it may have"}
    except Exception as error:  # whatever an engine raises is a finding, not the end of the run
        record |= {"error": "fault", "message": f"{type(error).__name__}: {error}"}
    record["peak_rss_mb"] = peak_rss_mb()
    return record


def _read(engine: Engine, tokens: list[int], record: dict[str, Any], clock: Callable[[], int]) -> tuple[int, bool]:
    """(tokens that were asked for, accepted) of one instance."""
    before = len(record["tbm_us"])
    accepted = accepts(engine, tokens, record, clock)
    return len(record["tbm_us"]) - before, accepted


def _verdict(valid: bool, accepted: bool) -> str:
    return "ok" if valid == accepted else "refused" if valid else "accepted"


def _compile(engine: Engine, schema: Any, record: dict[str, Any], clock: Callable[[], int]) -> None:
    begin = clock()
    engine.compile(schema)
    record["compile_us"] = round((clock() - begin) / 1000, 1)


def _fill(engine: Engine, clock: Callable[[], int]) -> float:
    begin = clock()
    engine.mask()
    return round((clock() - begin) / 1000, 1)


def accepts(engine: Engine, tokens: list[int], record: dict[str, Any], clock: Callable[[], int]) -> bool:
    """True if the engine lets these tokens pass, and the text end there. Times go into the record, one a token."""
    engine.start()
    row, mask_us, tbm_us = engine.row, record["mask_us"], record["tbm_us"]
    for token in tokens:
        begin = clock()
        engine.mask()
        filled = clock() - begin
        allowed = is_set(row, token)
        committed = 0
        if allowed:
            begin = clock()
            advanced = engine.advance(token)
            committed = clock() - begin
            if not advanced:
                raise RuntimeError(f"the mask allows token {token}, but committing it fails")
        mask_us.append(round(filled / 1000, 1))
        tbm_us.append(round((filled + committed) / 1000, 1))
        if record["first_mask_us"] is None:
            record["first_mask_us"] = mask_us[0]
        if not allowed:
            return False
    return engine.at_end()
