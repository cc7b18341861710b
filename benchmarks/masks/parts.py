"""Parts of a run as served that are no files of MaskBench: tools beside free text, batches of new schemas, threads.

Tools are made up: a name, and one to five properties of usual kinds, no two tools alike. A text has three sentences
and then calls of some of them, in the format of Qwen 3. Answers are checked: every token must be in its mask and the
text be allowed to end; a call of a tool that is not there, and one that is cut short, must be refused.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np

from masks.interface import CompileError, Form, is_set
from masks.vocabularies import BenchVocabulary

CALLS = 8  # of a text
WORDS = "order user date city item price note status owner route unit batch level topic color group".split()
VERBS = "get set find list add drop send move".split()
FREE = "Let me look at that for you. There are some things that I need to know first.\nSo this is what I will do now:\n"
Piece = tuple[bool, list[int]]  # is it a call, and its tokens


def tool(number: int) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """(name, schema of the arguments, arguments) of the tool of a number."""
    draw = random.Random(number)
    name = f"{draw.choice(VERBS)}_{draw.choice(WORDS)}_{number}"
    words = draw.sample(WORDS, 5)
    kinds = [
        ({"type": "string"}, f"the {words[0]} of {number}"),
        ({"type": "integer", "minimum": number % 7, "maximum": 1000 + number}, 7 + number % 90),
        ({"type": "boolean"}, True),
        ({"enum": [f"{word}-{number}" for word in words[:3]]}, f"{words[1]}-{number}"),
        ({"type": "array", "items": {"type": "string"}}, words[:2]),
        ({"type": "number"}, 0.5 + number),
        ({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}, {"id": number}),
    ]
    chosen = {word: draw.choice(kinds) for word in words[: draw.randint(1, 5)]}
    required = [word for word in chosen if draw.random() < 0.7] or [next(iter(chosen))]
    schema = {"type": "object", "properties": {word: kind for word, (kind, _) in chosen.items()}, "required": required}
    return name, schema, {word: value for word, (_, value) in chosen.items()}


def call(name: str, arguments: Any) -> str:
    """The text of a call."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def form(tools: list[tuple[str, Any, Any]]) -> Form:
    """Free text and calls of some tools."""
    tags = [
        {
            "type": "tag",
            "begin": f'<tool_call>\n{{"name": "{name}", "arguments": ',
            "content": {"type": "json_schema", "json_schema": schema},
            "end": "}\n</tool_call>",
        }
        for name, schema, _ in tools
    ]
    tag = {"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": tags}}

    def ours() -> Any:
        import constrain

        functions = [{"type": "function", "function": {"name": n, "parameters": schema}} for n, schema, _ in tools]
        return constrain.tools(functions, format="qwen3", thinking="none")

    return Form("structural_tag", tag, ours)


def answer(request: dict[str, Any], engine: Any, vocabulary: BenchVocabulary) -> dict[str, Any]:
    """The answer of a worker to {"tools": [first, count]}, {"files": [paths], "steps": N, "threads": bool}."""
    if "tools" in request:
        first, count = request["tools"]
        return _tools([tool(number) for number in range(first, first + count)], engine, vocabulary)
    cases = [_case(Path(path), request["steps"], vocabulary) for path in request["files"]]
    return _threads(cases, engine) if request.get("threads") else _batch(cases, engine)


def _tools(tools: list[tuple[str, Any, Any]], engine: Any, vocabulary: BenchVocabulary) -> dict[str, Any]:
    """Times in µs: compiling; masks of free text and of calls, at first and again. "error": it is refused;
    "wrong": a mask is."""
    asked = form(tools)
    begin = time.thread_time_ns()
    try:
        engine.compile(asked)
    except CompileError as error:
        return {"error": str(error)}
    found: dict[str, Any] = {"compile": (time.thread_time_ns() - begin) / 1000}
    step = max(1, len(tools) // CALLS)
    calls = [call(name, arguments) for name, _, arguments in tools[::step][:CALLS]]
    texts = [calls[0], *(f"\n{text}" for text in calls[1:])]
    pieces = [(False, vocabulary.encode(FREE)), *((True, vocabulary.encode(text)) for text in texts)]
    for reading in ("first", "again"):
        taken, times = _read(engine, pieces)
        if not taken:
            return {"wrong": "a text of calls is refused"}
        found |= {f"free {reading}": times[False], f"calls {reading}": times[True]}
    for wrong in (call("no_such_tool", {}), calls[0][: -len("}\n</tool_call>") - 1]):
        if _read(engine, [(True, vocabulary.encode(wrong))])[0]:
            return {"wrong": "a wrong call is taken"}
    return found


def _read(engine: Any, pieces: list[Piece]) -> tuple[bool, dict[bool, list[float]]]:
    """(accepted, µs of each mask, of free text and of calls)."""
    times: dict[bool, list[float]] = {False: [], True: []}
    engine.start()
    for is_call, tokens in pieces:
        for token in tokens:
            begin = time.thread_time_ns()
            engine.mask()
            times[is_call].append((time.thread_time_ns() - begin) / 1000)
            if not is_set(engine.row, token) or not engine.advance(token):
                return False, times
    return engine.at_end(), times


def _case(path: Path, steps: int, vocabulary: BenchVocabulary) -> tuple[Any, list[int]]:
    """(schema, the first tokens of the first valid instance) of a file."""
    case = json.loads(path.read_text(encoding="utf-8"))
    data = next(test["data"] for test in case["tests"] if test["valid"])
    return case["schema"], vocabulary.encode(json.dumps(data, ensure_ascii=False))[:steps]


def _batch(cases: list[tuple[Any, list[int]]], engine: Any) -> dict[str, Any]:
    """Requests of as many new schemas, begun together, a token each at every step.

    Returns CPU time in µs: of compiling each, of its rehearsal, of each row, and of all rows of a step.
    """
    matchers, compiled, rehearsed = [], [], []
    for schema, _ in cases:
        begin = time.thread_time_ns()
        engine.compile(json.dumps(schema))
        compiled.append((time.thread_time_ns() - begin) / 1000)
        rehearsed.append(getattr(engine, "rehearsal_us", 0.0))
        engine.start()
        matchers.append(engine.matcher)
    rows: list[float] = []
    sums: list[float] = []
    for step in range(max(len(text) for _, text in cases)):
        before = len(rows)
        for engine.matcher, (_, text) in zip(matchers, cases, strict=True):
            if step < len(text):
                begin = time.thread_time_ns()
                engine.mask()
                rows.append((time.thread_time_ns() - begin) / 1000)
                if not is_set(engine.row, text[step]) or not engine.advance(text[step]):
                    raise RuntimeError("a batch refuses a token that a single request takes")
        sums.append(sum(rows[before:]))
    return {"compile": compiled, "rehearsal": rehearsed, "rows": rows, "steps": sums}


def _threads(cases: list[tuple[Any, list[int]]], engine: Any) -> dict[str, Any]:
    """Wall ms of all first masks of a batch, by `fill_masks`: {"automata, threads": ms}. Their masks must be equal."""
    import constrain

    found: dict[str, Any] = {}
    expected = None
    for automata, threads in ((1, 1), (2, 1), (2, 2)):
        shared = [constrain.TokenAutomaton(engine.vocabulary) for _ in range(automata)]
        constraints = [engine.schema_of(schema) for schema, _ in cases]
        compiled = [
            constrain.compile(each, engine.vocabulary, automaton=shared[i % automata])
            for i, each in enumerate(constraints)
        ]
        matchers = [each.matcher() for each in compiled]
        rows = np.zeros((len(cases), engine.row.size), np.uint32)
        taken, sums = 0, []
        for step in range(min(len(text) for _, text in cases)):
            begin = time.perf_counter_ns()
            constrain.fill_masks(matchers, rows, threads=threads)
            taken += time.perf_counter_ns() - begin
            sums.append(int(np.bitwise_xor.reduce((rows * np.arange(1, rows[0].size + 1, dtype=np.uint32)).ravel())))
            if not all(constrain.advance_all(matchers, [text[step] for _, text in cases])):
                raise RuntimeError("a batch refuses a token that a single request takes")
        if expected is not None and sums != expected:
            raise RuntimeError("threads have other masks")
        expected = sums
        found[f"{automata} automata, {threads} threads"] = round(taken / 1e6, 2)
    return found
