"""Gaps: the cost of patterns of fixed text and gaps, and of canvases of tokens of a real vocabulary.

    python benchmarks/gaps.py [--ladder] [--canvases] [--programs] [--vocabulary tokenizer.model] [--record DIR]

Ladder: words of a text of `grammars/*/accept`, one in eight replaced by a gap of any text, between two gaps. Whether
anything fits, all live arcs, and the passes over derivations alone. Each pattern has a filling, and each of its fixed
bytes has to be live, else the benchmark fails.
Canvases: so many open positions, all tokens of a vocabulary of tiktoken's form; the masks of all positions. Then
positions are set in random order, each to a token that its mask allows, and the finished text has to be a member.
Programs: a text of C and of SQL in the tokens of that vocabulary. Canvases in which some of them are open: each mask
has to have the token that was there, and of tokens drawn at random just those with which the text is a member. And two
holes, filled from left to right by the tokens that were there: each has to be in the engine's mask.
CPU milliseconds, the median and the maximum of several texts.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import constrain
from constrain.masks.derived.members import is_member
from constrain.masks.gaps.projection import gap_language
from constrain.masks.gaps.solution import GapLanguage

LADDER = [
    ("json", False),
    ("c", True),
    ("c", False),
    ("javascript", False),
    ("sql", False),
]  # with words whole, or plain
PIECES = (20, 40, 80, 120)
GAPS = 0.12  # the share of words that are gaps
OBJECT = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}},
        "kind": {"enum": ["a", "b", "c"]},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}


def milliseconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """The CPU time of a call, and what it gave."""
    begin = time.thread_time()
    result = run()
    return 1e3 * (time.thread_time() - begin), result


def members(name: str) -> bytes:
    """The longest text of a grammar's accept folder, within limits."""
    if name == "json":
        return json.dumps(OBJECT, indent=1).encode()
    folder = constrain.collection.folder(name)
    found = []
    for path in sorted((Path(folder.path) / "accept").iterdir()):
        content = path.read_bytes()
        found += content.splitlines() if path.suffix == ".lines" else [content]
    return max((text for text in found if len(text) < 20_000), key=len)


def climb(name: str, plain: bool, pieces: int, repeats: int) -> dict[str, Any]:
    """The row of a grammar and a number of pieces of text."""
    constraint = constrain.collection.folder(name).constraint()
    if plain:
        constraint = constraint.text  # type: ignore[attr-defined]  # without the rules that keep words whole
    language = GapLanguage(constraint.as_dynamic())
    words = re.findall(rb"\w+|\s+|.", members(name), re.S)
    inside, both, sizes, kernels = [], [], [], []
    for seed in range(repeats):
        rng = random.Random(seed)
        begin = rng.randrange(max(1, len(words) - pieces))
        pattern, fixed = with_gaps(language, words[begin : begin + pieces], rng)
        spent, solution = milliseconds(lambda pattern=pattern: language.solve(pattern))
        assert not solution.is_empty, (name, seed)
        more, live = milliseconds(solution.live_arcs)
        assert live[fixed].all(), (name, seed)
        inside.append(spent)
        both.append(spent + more)
        sizes.append(len(solution.positions))
        kernels.append(chart_alone(solution))
    return {
        "symbols": language.rules.size,
        "lexer states": len(language.lexer.kinds),
        "positions": [min(sizes), int(statistics.median(sizes)), max(sizes)],
        "accepted or not, ms": summary(inside),
        "with all live arcs, ms": summary(both),
        "derivations alone, ms": summary([each for each in kernels if each is not None]),
    }


def chart_alone(solution: Any) -> float | None:
    """The time of both passes over derivations, from known lexemes; None for another version of the library."""
    try:
        from constrain.masks.gaps.chart import GapChart
    except ImportError:
        return None
    chart = GapChart(solution.language, len(solution.positions))
    lexemes = len(solution.rules.languages) * chart.n
    chart.R[:lexemes] = solution.chart.R[:lexemes]
    spent, _ = milliseconds(lambda: (chart.complete(), chart.live(solution.tops)))
    return spent


def with_gaps(language: GapLanguage, words: list[bytes], rng: random.Random) -> tuple[Any, list[int]]:
    """The pattern of words between two gaps and with more of them, and the arcs of its fixed bytes.

    The words are a stretch of a member. So the pattern has a filling for each arc of a fixed byte.
    """
    pattern = language.pattern()
    pattern.anything()
    fixed = []
    for word in words:
        if rng.random() < GAPS:
            pattern.anything()
        else:
            begin = len(pattern.arcs)
            pattern.text(word)
            fixed += range(begin, len(pattern.arcs))
    pattern.anything()
    return pattern, [arc for arc in fixed if pattern.arcs[arc][0] != pattern.arcs[arc][2]]


def summary(values: list[float]) -> list[float]:
    """Median and maximum."""
    return [round(statistics.median(values), 2), round(max(values), 2)] if values else []


def canvas_row(constraint: Any, vocabulary: Any, length: int, repeats: int) -> dict[str, Any]:
    """The row of a canvas of open positions."""
    from constrain.papers.diffusion.canvas import Canvas
    from constrain.papers.diffusion.token_classes import TokenClasses

    language = gap_language(constraint.as_dynamic())
    made, classes = milliseconds(lambda: TokenClasses(language, vocabulary))
    first, masks, steps = [], [], []
    for seed in range(repeats):
        rng = random.Random(seed)
        spent, canvas = milliseconds(lambda: Canvas(language, vocabulary, [None] * length, classes))
        first.append(spent)
        more, _ = milliseconds(lambda canvas=canvas: [canvas.mask(position) for position in canvas.open])
        masks.append(spent + more)
        for position in rng.sample(range(length), length):
            if canvas.tokens[position] is None:
                spent, mask = milliseconds(lambda canvas=canvas, position=position: canvas.mask(position))
                steps.append(spent)
                allowed = [token for token in np.flatnonzero(mask).tolist() if token not in vocabulary.eos_ids]
                canvas.set({position: rng.choice(allowed or np.flatnonzero(mask).tolist())})
        assert is_member(constraint, canvas.text.decode("utf-8")), canvas.text
    return {
        "tokens": len(vocabulary),
        "classes": classes.count,
        "classes, ms, once": round(made),
        "accepted or not, ms": summary(first),
        "masks of all positions, ms": summary(masks),
        "a step, ms": summary(steps),
        "steps": len(steps),
    }


PROGRAMS = {
    "c": "int main(void) { int total = 0; for (int i = 0; i < 10; i++) total += i; return total; }",
    "sql": "SELECT name, count(*) FROM users WHERE age > 21 AND city = 'Bern' GROUP BY name ORDER BY name",
}


def program_rows(name: str, vocabulary: Any) -> dict[str, Any]:
    """Canvases and holes of a program."""
    from constrain.papers.diffusion.canvas import Canvas
    from constrain.papers.diffusion.token_classes import TokenClasses

    constraint, text = constrain.collection.load(name), PROGRAMS[name]
    numbers = {token: number for number, token in reversed(list(enumerate(vocabulary.tokens))) if token}
    language = gap_language(constraint.as_dynamic())
    made, classes = milliseconds(lambda: TokenClasses(language, vocabulary))
    tokens = longest_first(text.encode(), numbers)
    rows: dict[str, Any] = {"tokens": len(tokens), "classes": classes.count, "classes, ms, once": round(made)}
    for count in (1, 2, 4):
        rng = random.Random(count)
        given: list[int | None] = list(tokens)
        for place in rng.sample(range(len(tokens)), count):
            given[place] = None
        try:
            first, canvas = milliseconds(lambda given=given: Canvas(language, vocabulary, given, classes))
        except constrain.LimitError as error:
            rows[f"{count} open"] = {"LimitError": error.message}
            continue
        spent, masks = milliseconds(lambda canvas=canvas: {place: canvas.mask(place) for place in canvas.open})
        assert all(mask[tokens[place]] for place, mask in masks.items())
        asked = 0
        if count == 1:
            [(place, mask)] = masks.items()
            for token in rng.sample(range(128_000), 60):
                whole = vocabulary.to_bytes([*tokens[:place], token, *tokens[place + 1 :]])
                if mask[token] != is_dynamic_member(language, whole):
                    raise AssertionError((place, token, whole))
                asked += 1
        rows[f"{count} open"] = {
            "accepted or not, ms": round(first), "all masks, ms": round(spent), "tokens compared": asked,
            "tokens allowed": [int(mask.sum()) for mask in masks.values()],
        }  # fmt: skip
    return rows | {"two holes": holes_row(constraint, vocabulary, text, numbers)}


def is_dynamic_member(language: GapLanguage, text: bytes) -> bool:
    """True if some cut of a text into lexemes makes it a member, decided by a chart of its bytes."""
    pattern = language.pattern()
    pattern.text(text)
    return not language.solve(pattern).is_empty


def longest_first(text: bytes, numbers: dict[bytes, int]) -> list[int]:
    """Tokens of a text, the longest first."""
    found, at = [], 0
    while at < len(text):
        size = next(size for size in range(min(24, len(text) - at), 0, -1) if text[at : at + size] in numbers)
        found.append(numbers[text[at : at + size]])
        at += size
    return found


def holes_row(constraint: Any, vocabulary: Any, text: str, numbers: dict[bytes, int]) -> dict[str, Any]:
    """Two holes of six to twenty characters: what the engine's masks take."""
    made, first, masks = [], [], []
    for seed in range(3):
        rng = random.Random(seed)
        begin, again = rng.randrange(4, 20), rng.randrange(50, 65)
        holes = [(begin, begin + rng.randrange(6, 20)), (again, again + rng.randrange(6, 20))]
        for holes_now in (holes, holes[1:]):
            spent, hole = milliseconds(
                lambda holes_now=holes_now: constrain.between(constraint, text=text, holes=holes_now)
            )
            more, compiled = milliseconds(lambda hole=hole: constrain.compile(hole, vocabulary))
            made.append(spent + more)
            matcher = compiled.matcher()
            filling = text[slice(*holes_now[0])].encode()
            for number, token in enumerate(longest_first(filling, numbers)):
                spent, bits = milliseconds(matcher.mask)
                (masks if number else first).append(spent)
                assert bits[token >> 5] >> (token & 31) & 1, (filling, token)
                assert matcher.advance(token)
            assert matcher.is_accepting()
    return {
        "holes": len(made), "constraint and its tables, ms": summary(made), "first mask, ms": summary(first),
        "other masks, ms": summary(masks),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ladder", action="store_true")
    parser.add_argument("--canvases", action="store_true")
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--vocabulary", type=Path, help="a file of tiktoken's form")
    parser.add_argument("--record", type=Path, help="write the table as JSON into this folder")
    options = parser.parse_args()
    table: dict[str, Any] = {}
    for name, plain in LADDER if options.ladder else []:
        for pieces in PIECES:
            key = f"{name}{' plain' if plain else ''}, {pieces} words"
            table[key] = climb(name, plain, pieces, options.repeats)
            print(key, json.dumps(table[key]), flush=True)
    if options.vocabulary:
        vocabulary = constrain.Vocabulary.from_tiktoken(
            options.vocabulary, special_tokens={"<|end|>": 128001}, eos_ids=[128001]
        )
    for name in PROGRAMS if options.programs else []:
        table[name] = program_rows(name, vocabulary)
        print(name, json.dumps(table[name]), flush=True)
    if options.canvases:
        for name, constraint in (
            ("json", constrain.collection.load("json")),
            ("arithmetic", constrain.collection.load("arithmetic")),
            ("schema, compact", constrain.json_schema(OBJECT, whitespace="compact")),
            ("schema, bounded", constrain.json_schema(OBJECT, whitespace="bounded")),
        ):
            for length in (16, 32):
                try:
                    row = canvas_row(constraint, vocabulary, length, 3)
                except constrain.LimitError as error:  # it counts, and the record says so
                    row = {"LimitError": error.message}
                table[f"{name}, {length} open"] = row
                print(name, length, json.dumps(row), flush=True)
    if options.record:
        options.record.mkdir(parents=True, exist_ok=True)
        (options.record / "gaps.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
