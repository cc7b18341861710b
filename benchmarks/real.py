"""Real models write extractions and function calls: what finishes, what is valid, what is right, and what it costs.

    make real
    python benchmarks/real.py --model build/real/smollm2 --chat --functions BFCL --out DIR
    python benchmarks/real.py --model build/real/gemma3-270m --tasks extraction --out DIR
    python benchmarks/real.py --model build/real/gemma3-270m --tasks call --examples 2 --functions BFCL --out DIR

Tasks: 40 short texts to be read into three pydantic models (`real_texts.toml`), and questions of the Berkeley Function
Calling Leaderboard, simple_python and multiple in turn; BFCL is the folder `bfcl_eval/data` of the wheel `bfcl-eval`.

Arms, all in the loop of `generate` at temperature 0, with the same prompts:

    default             the masks of `type=` and `schema=`
    open, closed        `undeclared="allow"` and `"refuse"`
    dumps, compact      a fixed layout, objects closed
    describe            closed, and `Prompt(describe=True)`: instead of the functions as JSON, for calls
    untold              calls only: closed, and nobody shows the functions
    example             the same with an example
    schema              closed, and the JSON Schema itself in the prompt
    complete            default, and the text must end within the limit
    all                 `canonical=False`: tokens may cut a text in any way
    draft               default, and `draft="auto"`
    xgrammar            its masks, by its defaults: objects closed
    llguidance          its masks, by its defaults: objects open; `llguidance-closed`: the schema closed

`--examples N` puts N questions of BFCL that are not asked before each call, with their functions and answers, as
json.dumps writes them: a base model does not know what is wanted.

Columns: finished; cut by a key that the schema does not declare; valid: finished, read by the
model class or by jsonschema, and without undeclared keys; right: every field, for calls the name and each argument
among BFCL's accepted answers; fields: right ones, of all; log mass: of the allowed tokens, summed over an output, on
average (0: the model wanted nothing else); tokens; forwards; CPU seconds of an output.
Bias: two small models, one prompt each. Texts compare without case and outer punctuation, plurals as they are, but that
a product may have an "s".
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from pydantic import BaseModel, Field

import constrain
from constrain.models.hf.model import HFModel
from masks.options import add_records
from masks.records import Records, machine, open_folder, write_settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXTS = Path(__file__).parent / "real_texts.toml"
TYPES = {"dict": "object", "float": "number", "tuple": "array"}  # of BFCL, in JSON Schema
CALL = "Answer with one call of a function, as JSON with name and arguments."
ARMS = (
    *("default", "open", "closed", "dumps", "compact", "describe", "example", "untold", "schema"),
    *("complete", "all", "draft"),
)
PEERS = ("xgrammar", "llguidance", "llguidance-closed")


class Person(BaseModel):
    """A person who is mentioned in a text."""

    name: str = Field(description="first and last name, without titles")
    age: int = Field(description="age in years")
    city: str = Field(description="where the person is or lives")


class Event(BaseModel):
    """An event that is announced."""

    title: str = Field(description="name of the event")
    date: datetime.date = Field(description="day of the event")
    place: str = Field(description="city")
    online: bool = Field(description="true if people take part by video")


class Order(BaseModel):
    """A customer's order."""

    product: str = Field(description="what is ordered, in the singular")
    quantity: int = Field(description="how many")
    color: Literal["red", "green", "blue", "black", "white"]
    price: float = Field(description="price of one")


MODELS = {"Person": Person, "Event": Event, "Order": Order}


class Task(NamedTuple):
    """name: of the record. wanted: a schema, or a model class. told: what a system message says, "" for nothing.

    right: (fields that are right, fields) of a value.
    """

    name: str
    wanted: Any
    told: str
    question: str
    right: Callable[[Any], tuple[int, int]]

    @property
    def schema(self) -> Any:
        """The JSON Schema of what is wanted."""
        return self.wanted.model_json_schema() if isinstance(self.wanted, type) else self.wanted


def extractions() -> Iterator[Task]:
    """The texts of `real_texts.toml`, the classes in turn."""
    table = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    for place in range(max(map(len, table.values()))):
        for kind, rows in table.items():
            if place < len(rows):
                gold = rows[place]["gold"]

                def right(value: Any, gold: dict[str, Any] = gold) -> tuple[int, int]:
                    return sum(accepted(value.get(key), [each, f"{each}s"]) for key, each in gold.items()), len(gold)

                question = f"Extract the {kind.lower()} from this text as JSON: {rows[place]['text']}"
                yield Task(f"extraction {kind} {place}", MODELS[kind], "", question, right)


def rows_of(folder: Path, first: int) -> Iterator[tuple[dict[str, Any], list[Any], dict[str, Any]]]:
    """Each fourth row of `simple_python` and `multiple` from a first one on, in turn: (row, its functions, its answer).

    The answer is the name of a function, and for each argument the values that are accepted.
    """
    tables = []
    for name in ("simple_python", "multiple"):
        asked, answers = (
            [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            for path in (folder / f"BFCL_v4_{name}.json", folder / "possible_answer" / f"BFCL_v4_{name}.json")
        )
        tables.append(zip(asked[first::4], answers[first::4], strict=True))
    for pair in zip(*tables, strict=False):
        for row, answer in pair:
            functions = [{**each, "parameters": json_types(each["parameters"])} for each in row["function"]]
            yield row, functions, answer["ground_truth"][0]


def calls(folder: Path, examples: int = 0) -> Iterator[Task]:
    """Questions of BFCL, behind as many worked examples."""
    shown = "".join(worked(*each) for each in islice(rows_of(folder, 1), examples))
    for row, functions, gold in rows_of(folder, 0):
        told = f"{shown}{told_of(functions)}"

        def right(value: Any, gold: dict[str, Any] = gold) -> tuple[int, int]:
            (name, arguments), given = next(iter(gold.items())), value.get("arguments", {})
            good = sum(accepted(given.get(key, ""), each) for key, each in arguments.items())
            return (good if value.get("name") == name and given.keys() <= arguments.keys() else 0), len(arguments)

        schema = {"anyOf": [call_schema(each) for each in functions]}
        yield Task(f"call {row['id']}", schema, told, row["question"][0][-1]["content"], right)


def told_of(functions: list[dict[str, Any]]) -> str:
    """The sentence that shows functions."""
    return f"{CALL} Functions: {json.dumps(functions)}"


def worked(row: dict[str, Any], functions: list[dict[str, Any]], gold: dict[str, Any]) -> str:
    """A question and its answer, as a text prompt has them."""
    ((name, arguments),) = gold.items()
    call = {"name": name, "arguments": first_answers(arguments)}
    return f"{told_of(functions)}\n\n{row['question'][0][-1]['content']}\nJSON: {json.dumps(call)}\n\n"


def first_answers(arguments: dict[str, Any]) -> dict[str, Any]:
    """The first accepted value of each argument; without arguments that an answer leaves out, which have "" there."""
    first = {key: answers[0] for key, answers in arguments.items() if answers and answers[0] != ""}
    return {key: first_answers(value) if isinstance(value, dict) else value for key, value in first.items()}


def call_schema(function: dict[str, Any]) -> dict[str, Any]:
    """The schema of a call."""
    properties = {"name": {"const": function["name"]}, "arguments": function["parameters"]}
    told = {"description": function["description"]}
    return {**told, "type": "object", "properties": properties, "required": ["name", "arguments"]}


def json_types(schema: Any) -> Any:
    """A schema of BFCL with the types of JSON Schema."""
    if isinstance(schema, list):
        return [json_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: json_types(each) for key, each in schema.items() if key != "optional"}
    if isinstance(made.get("type"), str):
        made["type"] = TYPES.get(made["type"], made["type"])
        if made["type"] == "any":
            del made["type"]
    return made


def accepted(value: Any, answers: Sequence[Any]) -> bool:
    """One of the accepted answers: texts but for case and outer punctuation, numbers by value, containers by parts."""
    return any(same(value, each) for each in answers)


def same(value: Any, answer: Any) -> bool:
    """See `accepted`; the fields of a dict are lists of answers."""
    if isinstance(value, str) and isinstance(answer, str):
        return value.lower().strip(" .,'\"") == answer.lower().strip(" .,'\"")
    if isinstance(value, list) and isinstance(answer, list):
        return len(value) == len(answer) and all(map(same, value, answer))
    if isinstance(value, dict) and isinstance(answer, dict):
        return value.keys() <= answer.keys() and all(accepted(value.get(k, ""), each) for k, each in answer.items())
    return isinstance(value, bool) == isinstance(answer, bool) and value == answer


class PeerMask:
    """A constraint of another library, as `generate` takes one: a matcher that fills masks."""

    def __init__(self, engine: Any, vocabulary: Any, schema: Any) -> None:
        self.engine, self.vocabulary = engine, vocabulary
        engine.compile(schema)

    def matcher(self) -> PeerMask:
        self.engine.start()
        self.ended = False
        return self

    fork = matcher  # only a matcher at the beginning is forked

    def fill_mask(self, row: np.ndarray) -> None:
        self.engine.mask()
        row.view(np.uint32)[:] = 0
        row.view(np.uint32)[: len(self.engine.row)] = self.engine.row

    def advance(self, token: int) -> bool:
        self.ended = token in self.vocabulary.eos_ids
        return bool(self.engine.advance(token)) or self.ended

    def forced_tokens(self) -> list[int]:
        return []

    def is_finished(self) -> bool:
        return self.ended

    def is_accepting(self) -> bool:
        return self.ended or bool(self.engine.at_end())


def peer(name: str, handle: HFModel) -> Callable[[Any], PeerMask]:
    """Schema → constraint of another library; what does not depend on the schema is made once."""
    from masks.engines import LLGuidance
    from masks.interface import Settings
    from masks.peers import XGrammar
    from masks.vocabularies import BenchVocabulary

    known = handle.vocabulary

    def encode(text: str) -> list[int]:
        return list(handle.tokenizer.encode(text, add_special_tokens=False))

    vocabulary = BenchVocabulary("", known.tokens, known.eos_ids[0], encode)

    class Closing(XGrammar):
        """XGrammar by its defaults, which close objects."""

        def compile(self, schema: Any) -> None:
            self.compiled = self.compiler.compile_json_schema(json.dumps(schema))

    kind = Closing if name == "xgrammar" else LLGuidance
    first = kind(vocabulary, Settings())

    def made(schema: Any) -> PeerMask:
        engine = kind.__new__(kind)
        engine.__dict__.update(first.__dict__)
        engine.row = engine.row.copy() if name != "xgrammar" else engine.row
        return PeerMask(engine, known, closed(schema).schema if name.endswith("closed") else schema)

    return made


def closed(schema: Any, **options: Any) -> Any:
    """The constraint with declared properties only."""
    return constrain.json_schema(schema, undeclared="refuse", **options)


def given(arm: str, task: Task, handle: HFModel, peers: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `generate` that say the constraint of an arm."""
    if arm in PEERS:
        return {"constraint": peers[arm](task.schema)}
    if arm == "open":
        return {"constraint": constrain.json_schema(task.wanted, undeclared="allow")}
    if arm in ("closed", "describe", "example", "untold", "schema"):
        return {"constraint": closed(task.wanted)}
    if arm == "compact":
        return {"constraint": closed(task.wanted, whitespace="compact")}
    if arm == "dumps":
        layout = constrain.schema.JsonLayout(separators=(", ", ": "))
        return {"constraint": closed(task.wanted, whitespace=layout)}
    wanted = {"type" if isinstance(task.wanted, type) else "schema": task.wanted}
    more = {"complete": {"complete": True}, "all": {"canonical": False}, "draft": {"draft": "auto"}}
    return {**wanted, **more.get(arm, {})}


def prompt_of(arm: str, task: Task, chat: bool) -> Any:
    """The prompt of a task."""
    told = "" if arm in ("describe", "untold") else task.told
    if arm == "example":
        told = constrain.describe(task.wanted, example=True)
    if arm == "schema":
        told = f"Answer with JSON of this JSON Schema: {json.dumps(task.schema)}"
    if not chat:
        content: Any = f"{told}\n\n{task.question}\nJSON:".lstrip()
    else:
        content = [{"role": "user", "content": task.question}]
        content = [{"role": "system", "content": told}, *content] if told else content
    return constrain.Prompt(content, describe=True) if arm == "describe" else content


def answered(arm: str, task: Task, handle: HFModel, chat: bool, peers: dict[str, Any]) -> dict[str, Any]:
    """The record of one output."""
    begun = time.process_time()
    g: Any = constrain.generate(
        handle, prompt_of(arm, task, chat), temperature=0, max_tokens=96, **given(arm, task, handle, peers)
    )
    seconds = time.process_time() - begun
    ended = g.finish_reason == "stop"
    options = {"undeclared": "refuse", "spelling": "any", "whitespace": "any", "property_order": "any"}
    free = constrain.json_schema(task.schema, **options)
    declared = constrain.compile(free, constrain.Vocabulary.of_bytes()).matcher().advance_bytes(g.text.encode())
    valid, good = False, (0, task.right({})[1])
    if ended:
        value = json.loads(g.text)
        valid, good = declared and is_valid(task, g.text), task.right(value)
    return {
        "ended": ended,
        "undeclared": not declared,
        "valid": valid,
        "right": valid and good[0] == good[1],
        "fields": good,
        "own": is_own(handle, g),
        "log_p": g.logprob,
        "log_mass": sum(record.log_z for record in g.trace),
        "tokens": g.stats.tokens,
        "forwards": g.stats.forwards,
        "seconds": seconds,
        "text": g.text,
    }


def is_own(handle: HFModel, g: Any) -> bool:
    """The tokens are those into which the tokenizer cuts the text."""
    ended = g.finish_reason == "stop"
    return ended and handle.tokenizer(g.text, add_special_tokens=False)["input_ids"] == list(g.tokens[:-1])


def is_valid(task: Task, text: str) -> bool:
    """pydantic, or jsonschema, takes the text."""
    from jsonschema import Draft202012Validator

    try:
        if isinstance(task.wanted, type):
            task.wanted.model_validate_json(text)
            return True
        return Draft202012Validator(task.schema).is_valid(json.loads(text))
    except ValueError:
        return False


def table(records: list[dict[str, Any]]) -> str:
    """The arms of each kind of task, in Markdown."""
    lines = [
        "| task, arm | n | finished | cut by an undeclared key | valid | right | own cut | fields | log p | log mass "
        "| tokens | forwards | CPU s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for kind, arm in dict.fromkeys((record["task"].split()[0], record["arm"]) for record in records):
        rows = [row for row in records if row["arm"] == arm and row["task"].startswith(kind)]
        cut = sum(not row["ended"] and row["undeclared"] for row in rows)
        counts = [
            len(rows),
            sum(row["ended"] for row in rows),
            cut,
            *(sum(r.get(k, False) for r in rows) for k in ("valid", "right", "own")),
        ]
        fields = f"{sum(row['fields'][0] for row in rows)} of {sum(row['fields'][1] for row in rows)}"
        means = [
            f"{fmean(row[key] for row in rows):.1f}" for key in ("log_p", "log_mass", "tokens", "forwards", "seconds")
        ]
        lines.append(f"| {kind}, {arm} | {' | '.join(map(str, counts))} | {fields} | {' | '.join(means)} |")
    return "\n".join(lines)


def main() -> None:
    """Ask, keep each record as it comes, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", type=Path, required=True, help="a folder that `make real` made, or another folder of a model"
    )
    parser.add_argument("--chat", action="store_true", help="prompts are messages")
    parser.add_argument("--tasks", nargs="+", default=["extraction", "call"], choices=["extraction", "call"])
    parser.add_argument("--functions", type=Path, help="the folder bfcl_eval/data, for calls")
    parser.add_argument("--arms", nargs="+", default=["default", "open", "closed"], choices=[*ARMS, *PEERS])
    parser.add_argument("--count", type=int, default=40, help="of each kind of task")
    parser.add_argument("--examples", type=int, default=0, help="worked examples before each call, without --chat")
    add_records(parser, "settings and summary.md")
    options = parser.parse_args()
    if options.examples and options.chat:
        parser.error("--examples: a text prompt shows them")
    torch.set_num_threads(1)
    handle = HFModel.of(str(options.model))
    peers = {name: peer(name, handle) for name in set(PEERS) & set(options.arms)}
    asked = f"{' --chat' * options.chat}{f' --examples {options.examples}' if options.examples else ''}"
    settings = {**machine(), "command": f"real.py --model {options.model.name}{asked}"}
    open_folder(options.out, settings, options.resume)
    records = Records(options.out, "answers", "id")
    kinds: dict[str, Any] = {"extraction": extractions, "call": lambda: calls(options.functions, options.examples)}
    for kind in options.tasks:
        for _, task in zip(range(options.count), kinds[kind](), strict=False):
            for arm in options.arms:
                if f"{task.name} {arm}" not in records.done:
                    record = answered(arm, task, handle, options.chat, peers)
                    records.add({"id": f"{task.name} {arm}", "task": task.name, "arm": arm, **record})
    print(table(records.all()))
    if options.out:
        write_settings(options.out, settings, {})
        (options.out / "summary.md").write_text(table(records.all()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
