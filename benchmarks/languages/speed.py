"""Microseconds per token on a grammar, beside other engines where they can load it.

Each text is encoded by the vocabulary's tokenizer; for every token a mask is filled, the token's bit is looked up and
the token is committed, as in `masks/measure.py`. Engines alternate text by text, so that noise of the machine falls on
all. All texts are read twice: the first pass pays for what the grammar meets for the first time, the second does not.

A record of an engine: {"engine", "version", "error": why the grammar could not be loaded, or None, "compile_us",
"accepted": texts, "refused": names of texts refused or not allowed to end, "first_us", "second_us": [thread time of
each token]}. An engine that refuses a member has the times of the tokens before.
"""

from __future__ import annotations

import time
from typing import Any

from constrain.languages.collection import GrammarFolder
from masks import engines as engines_by_name
from masks.interface import CompileError, Form, NoFormError, is_set
from masks.limits import TimeLimitError, time_limit
from masks.vocabularies import BenchVocabulary

ENGINES = ("constrain", "llguidance", "xgrammar")
PASSES = ("first_us", "second_us")
WALL = 20


def form_of(folder: GrammarFolder) -> Form:
    """A grammar of the collection: as its settings say, and as a text in Lark's format or in GBNF."""
    kind = "lark" if folder.file.suffix == ".lark" else "ebnf"
    return Form(kind, folder.text, folder.constraint)


def make(name: str, vocabulary: BenchVocabulary) -> Any:
    """The adapter of an engine, warmed up on a small schema."""
    engine = engines_by_name.make(name, vocabulary)
    engines_by_name.warm_up(engine, vocabulary.encode('{"a": "b"}'))
    return engine


def measure(
    engines: dict[str, Any],
    vocabulary: BenchVocabulary,
    folder: GrammarFolder,
    texts: list[tuple[str, bytes]],
    limit: float,
) -> list[dict[str, Any]]:
    """The records of all engines.

    limit: seconds of thread time for an engine to load the grammar, and to read texts the first time; when they are
    over, it reads no more of them, and the text that it was reading counts neither way. The second pass has the same
    texts. (`WALL` times as many seconds of wall time end what does not come back, where a signal is heard.)
    """
    records = {name: _load(name, engine, folder, limit) for name, engine in engines.items()}
    encoded = [(name, vocabulary.encode(text.decode())) for name, text in texts]
    left = {name: limit for name in engines if records[name]["error"] is None}
    read: dict[str, list[list[int]]] = {name: [] for name in left}  # the texts that the first pass finished
    for name, tokens in encoded:
        for engine_name in [each for each in left if left[each] > 0]:
            record, begin = records[engine_name], time.thread_time()
            accepted = _accepts(engines[engine_name], tokens, record[PASSES[0]], left[engine_name])
            left[engine_name] -= time.thread_time() - begin
            if accepted is not None:
                read[engine_name].append(tokens)
                record["accepted"] += accepted
                record["refused"] += [] if accepted else [name]
    for index in range(len(encoded)):
        for engine_name, again in read.items():
            if index < len(again):
                _accepts(engines[engine_name], again[index], records[engine_name][PASSES[1]], limit)
    return list(records.values())


def _load(name: str, engine: Any, folder: GrammarFolder, limit: float) -> dict[str, Any]:
    record = {
        "engine": name, "version": engine.version, "error": None, "compile_us": None, "accepted": 0, "refused": [],
    }  # fmt: skip
    begin = time.thread_time_ns()
    try:
        with time_limit(WALL * limit):
            if folder.settings.get("layout") and name != "constrain":
                raise NoFormError("knows no layout")
            engine.compile(form_of(folder))
            engine.start()
    except CompileError as error:
        record["error"] = str(error)
    except TimeLimitError:
        record["error"] = f"over {limit:g} s"
    record["compile_us"] = round((time.thread_time_ns() - begin) / 1000, 1)
    return record | {which: [] for which in PASSES}


def _accepts(engine: Any, tokens: list[int], times: list[float], limit: float) -> bool | None:
    """Does the engine let these tokens pass, and the text end there? None where the time is over before."""
    stop = time.thread_time_ns() + 1e9 * limit
    try:
        with time_limit(WALL * limit):
            engine.start()
            for token in tokens:
                begin = time.thread_time_ns()
                if begin > stop:
                    return None
                engine.mask()
                allowed = is_set(engine.row, token) and engine.advance(token)
                times.append(round((time.thread_time_ns() - begin) / 1000, 1))
                if not allowed:
                    return False
            return bool(engine.at_end())
    except TimeLimitError:
        return None
    except (RuntimeError, ValueError):  # an engine that stops is an engine that refuses
        return False
