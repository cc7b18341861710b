"""Filling in the middle: the completions that make a whole that parses, and the cost of a cut.

    python benchmarks/fim.py [--cuts 200] [--sql-cuts 120] [--model reference|uniform] [--record DIR]

Whole texts: JSON instances of MaskBench files (under the JSON grammar, and under the file's own schema), and the texts
that `languages/corpora/` has of arithmetic and SQL (statements of files found on this machine, then written ones). From
each cut, a random piece is taken out, and a new middle is generated under masks of at most 64 tokens that close in
time: by the embedded reference model, or uniformly at random over the Llama-3 vocabulary, which goes wherever masks let
it. SQL is read with the greedy lexer: masks then allow what some way to cut the text into terminals allows, and a
middle that does not pass the check of the whole is thrown away and drawn again, as `generate` does.

Every cut is an attempt: one that was given up, ended dead or was refused counts as one without a whole that parses.
Answers are checked by other parsers: `json.loads`, `jsonschema` under a schema, Python's for arithmetic, SQLite's for
SQL. Biases: pieces have up to 200 characters; texts up to 20 kB; instances that are not in the schema's order of
properties are left out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import constrain
from constrain.errors import ConstrainError, LimitError
from constrain.languages.constraints.base import Constraint
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.derived.members import is_member
from languages import corpora, oracles
from masks import vocabularies
from masks.records import data_folder

ROOT = Path(__file__).resolve().parent.parent
LONGEST, PIECE, TOKENS, TRIES = 20_000, 200, 64, 20
WITHOUT = ("given up", "ended dead", "budget too small", "refused: cannot be cut", "raised")  # attempts without a whole
Drawn = tuple[str | None, int]  # a middle (None: none passed the check), and how many were thrown away before it


class DeadEnd(Exception):
    """A generation ended without a member."""


class Whole(NamedTuple):
    """A text that is a member. parses: None, or what an independent parser has against a text."""

    name: str
    constraint: Constraint
    text: str
    parses: Callable[[str], str | None]


def json_texts(rng: random.Random, schemas: bool) -> Iterator[Whole]:
    """Instances of MaskBench, pretty-printed or compact; under their own schemas or under the grammar of JSON."""
    json_grammar = constrain.grammar((ROOT / "grammars" / "json" / "grammar.lark").read_text(encoding="utf-8"))
    files = sorted(data_folder(None, "maskbench-dev").iterdir())
    rng.shuffle(files)
    for path in files:
        content = json.loads(path.read_text(encoding="utf-8"))
        for test in content["tests"]:
            text = json.dumps(test["data"], indent=rng.choice([None, 2]), ensure_ascii=rng.random() < 0.5)
            if not test["valid"] or not 10 < len(text) <= LONGEST:
                continue
            try:
                constraint = constrain.json_schema(content["schema"]) if schemas else json_grammar
                if not is_member(constraint, text):
                    continue
            except ConstrainError:
                continue
            yield Whole(path.name, constraint, text, validator(content["schema"]) if schemas else loads)
            break


def loads(text: str) -> str | None:
    """The error of `json.loads` on a text; None if there is none."""
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return None


def validator(schema: Any) -> Callable[[str], str | None]:
    """A function that gives the error of `jsonschema` on a text; None if there is none."""
    import jsonschema

    checker = jsonschema.validators.validator_for(schema)(schema)

    def check(text: str) -> str | None:
        found = loads(text)
        error = None if found else next(checker.iter_errors(json.loads(text)), None)
        return found or (error and error.message)

    return check


def grammar_texts(rng: random.Random, name: str) -> Iterator[Whole]:
    """Texts of a grammar of the collection, as its benchmark finds them; parsed by the language's own parser."""
    folder = constrain.collection.folder(name)
    constraint, oracle = folder.constraint(), oracles.find(folder.settings["oracle"])
    for text_name, text in corpora.gather(folder, oracle, corpus=None, seed=rng.randrange(1 << 30), limit=400)[0]:
        if 3 < len(text) <= LONGEST and is_member(constraint, text.decode()):
            parses = lambda whole: "refused by its parser" if oracle(whole.encode()) is False else None  # noqa: E731
            yield Whole(f"{name} {text_name}", constraint, text.decode(), parses)


def uniform(vocabulary: constrain.Vocabulary, rng: random.Random) -> Callable[[Constraint], Drawn]:
    """A middle of tokens drawn uniformly from the masks."""

    def generate(constraint: Constraint) -> Drawn:
        budget = LengthBudget(constrain.compile(constraint, vocabulary))
        for thrown_away in range(TRIES):
            text = draw(budget)
            if not constraint.residual or constraint.residual_fault(text) is None:
                return text, thrown_away
        return None, TRIES

    def draw(budget: LengthBudget) -> str:
        matcher = budget.matcher(most=TOKENS)
        row = np.zeros(vocabulary.words, np.uint32)
        while True:
            matcher.fill_mask(row)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
            token = rng.choice(allowed) if allowed else None
            if token is None or token in vocabulary.eos_ids:  # None: complete, but refused by the check of the whole
                return matcher.inner.text.decode()
            assert matcher.advance(token)

    return generate


def by_model(model: Any, rng: random.Random) -> Callable[[Constraint], Drawn]:
    """A middle by the reference model, which reads the last 200 characters before the cut."""

    def generate(constraint: Any) -> Drawn:
        g = constrain.generate(
            model, constraint.prefix[-200:] or "\n", constraint=constraint, complete=True, max_tokens=TOKENS,
            seed=rng.randrange(1 << 30),
        )  # fmt: skip
        if g.finish_reason != "stop":
            raise DeadEnd(g.finish_reason)
        return g.text, 0

    return generate


def run(
    wholes: Iterator[Whole], cuts: int, generate: Callable[[Constraint], Drawn], rng: random.Random
) -> dict[str, Any]:
    """Cut, complete, check; the row of the table. Every cut is an attempt and counts, whatever became of it."""
    compile_ms, total_ms, lengths, faults, changed, again = [], [], [], [], 0, 0
    never: dict[str, int] = dict.fromkeys(WITHOUT, 0)
    for whole in itertools.islice(wholes, cuts):
        start = rng.randrange(len(whole.text))
        end = min(len(whole.text), start + rng.randrange(PIECE))
        prefix, suffix = whole.text[:start], whole.text[end:]
        lengths.append(len(whole.text))
        begin = time.thread_time()
        try:
            constraint = constrain.between(whole.constraint, prefix=prefix, suffix=suffix)
        except LimitError:  # a number under `multipleOf`
            never["refused: cannot be cut"] += 1
            continue
        compile_ms.append(1e3 * (time.thread_time() - begin))
        try:
            middle, thrown_away = generate(constraint)
        except DeadEnd:
            never["ended dead"] += 1
            continue
        except ConstrainError as error:
            if "too small" not in str(error):
                raise
            never["budget too small"] += 1  # the least middle has more than 64 tokens
            continue
        except Exception as error:  # a fault of the library; it counts, and the record names it
            never["raised"] += 1
            faults.append({"text": whole.name, "start": start, "end": end, "middle": None, "fault": repr(error)})
            continue
        finally:
            total_ms.append(1e3 * (time.thread_time() - begin))
        again += thrown_away
        if middle is None:
            never["given up"] += 1
            continue
        changed += middle != whole.text[start:end]
        fault = whole.parses(prefix + middle + suffix)
        if fault:
            faults.append({"text": whole.name, "start": start, "end": end, "middle": middle, "fault": fault})
    return {
        "attempts": len(lengths),
        "wholes that parse": len(lengths) - len(faults) - sum(never.values()) + never["raised"],
        "wholes that do not parse": len(faults) - never["raised"],
        **never,
        "middles other than the one cut out": changed,
        "thrown away by the check of the whole": again,
        "characters": [statistics.median(lengths), max(lengths)] if lengths else [],
        "between() ms, median and max": [round(statistics.median(compile_ms), 2), round(max(compile_ms), 1)],
        "all ms, median and max": [round(statistics.median(total_ms), 1), round(max(total_ms), 1)],
        "faults": faults,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuts", type=int, default=200)
    parser.add_argument("--model", choices=["uniform", "reference"], default="uniform")
    parser.add_argument("--arithmetic-cuts", type=int, default=40)
    parser.add_argument("--sql-cuts", type=int, default=120)
    parser.add_argument("--record", type=Path, help="write the table as JSON into this folder")
    options = parser.parse_args()
    rng = random.Random(0)
    if options.model == "uniform":
        found = vocabularies.load("llama3", data_folder(None))
        generate = uniform(constrain.Vocabulary(found.tokens, eos_ids=[found.eos_id]), rng)
    else:
        from constrain import reference

        generate = by_model(reference.load(), rng)
    table = {}
    for name, wholes, cuts in (
        ("JSON, by the grammar", json_texts(rng, schemas=False), options.cuts),
        ("JSON, by the schema of each file", json_texts(rng, schemas=True), options.cuts),
        ("arithmetic", grammar_texts(rng, "arithmetic"), options.arithmetic_cuts),
        ("SQL", grammar_texts(rng, "sql"), options.sql_cuts),
    ):
        if not cuts:
            continue
        table[name] = run(wholes, cuts, generate, rng)
        print(name, json.dumps({key: value for key, value in table[name].items() if key != "faults"}, indent=1))
        print(f"  faults: {table[name]['faults'][:3]}")
    if options.record:
        options.record.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"model": options.model, "table": table}, indent=1, ensure_ascii=False)
        (options.record / f"{options.model}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
