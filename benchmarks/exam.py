"""Examine tools of many servers in each format, types of Python, and tokenizers that no test has.

Question: are 217 tools read within six tenths of a second in every format, and their calls read back; does `generate`
write a value of every type; are the bytes, the own cuts and the delimiters of a tokenizer right?

    python benchmarks/exam.py tools --given tools.json          a list of tools, as servers of MCP list theirs
    python benchmarks/exam.py types --draws 200                 the rows of tests/data/python_types.toml
    python benchmarks/exam.py tokenizers --given FOLDER         in it, a folder with a tokenizer.json for each

Each prints a table and its wrong answers, which end it with status 1. `tools`: a process for each format and
vocabulary, which has read one tool; CPU seconds; arguments of walks are judged by `jsonschema`. `types`: pydantic reads
what the embedded model writes, and a random one for a tenth; a dead end is wrong unless the type is checked later.
`tokenizers`: the judge is the package of that name; adverse walks take the shortest tokens, some that end as an added
one begins, or any. Bias: walks draw tokens without a model; times hold on an idle machine only.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import random
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
from tokenizers import Tokenizer

import constrain
from constrain.chat.calls import FORMATS
from constrain.languages.cuts import canonical_tokens
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.derived.forced import ForcedCuts

ROOT = Path(__file__).resolve().parents[1]
HEADS = {
    "tools": "format, vocabulary, tools, read s, compiled s, calls read back",
    "types": "type, model, drawn, refused, dead, cut, drawn again, checked later",
    "tokenizers": "tokenizer, ids, decoded, differ, own cuts, refused, forced, to another, added texts, in junk",
}
TEXTS = [
    '{"a": [1, -2.5e3, "Zürich"]}', "def f(x):\n    return x ** 2\n", "日本語 and 漢字, 🎈🎉 👩‍👩‍👧", "  2024-11-29\t",
    "it's 1234567 <b>x</b>", '"\\u65e5\\n"', "São Paulo\r\n\r\n", "https://a.b/c?d=e&f=%20", "SELECT a<>'b';",
]  # fmt: skip
WEATHER = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
wrong: list[str] = []


def types(options: argparse.Namespace) -> Any:
    """Draws of each type by two models."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "languages" / "schema")]
    import pydantic
    from python_types import ROWS, evaluated, refusal

    from toy_model import tiny_handle

    models = {"embedded": (constrain.reference.load(), options.draws), "random": (tiny_handle(), options.draws // 10)}
    rows = random.Random(options.seed).sample(ROWS, min(options.limit, len(ROWS)))
    for row, (name, (model, draws)) in itertools.product(rows, models.items()):
        kind, given = evaluated(row["type"]), {"n": draws, "seed": options.seed, "max_tokens": 160}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs = constrain.generate(model, "Schema: {} JSON: ", type=kind, **given)
        whole = [each for each in outputs if each.finish_reason == "stop" and each.fault is None]
        refused = [each for each in whole if refusal(pydantic.TypeAdapter(kind), each.text)]
        cut = [each for each in outputs if each.finish_reason == "length"]
        others = [] if row.get("later") else [each for each in outputs if each not in whole]
        wrong.extend(f"{row['type']}: {each.text!r:.200} {each.fault}" for each in [*refused, *others])
        dead, again = len(outputs) - len(whole) - len(cut), sum(each.stats.retries > 0 for each in outputs)
        yield f"`{row['type']}`", name, len(outputs), len(refused), dead, len(cut), again, row.get("later", "")


def tools(options: argparse.Namespace) -> Any:
    """All tools in each format, by a process each."""
    for name, kind in itertools.product(FORMATS, ("bytes", str(ROOT / "build/real/smollm2/tokenizer.json"))):
        command = [sys.executable, __file__, *sys.argv[1:], "--one", name, kind]
        ran = subprocess.run(command, capture_output=True, check=True, text=True)
        line, faults = json.loads(ran.stdout)
        wrong.extend(faults)
        yield line


def format_row(options: argparse.Namespace) -> list[Any]:
    """One format and vocabulary: seconds, and calls that are read back."""
    name, kind = options.one
    given = json.loads(options.given.read_text())
    if name == "pythonic":  # a name that is no identifier is an error
        given = [each for each in given if all(map(str.isidentifier, each["inputSchema"].get("properties", ())))]
    is_made = kind == "bytes"
    vocabulary = constrain.Vocabulary.of_bytes(*FORMATS[name].tokens) if is_made else load(Path(kind))
    constrain.compile(constrain.tools([WEATHER], name, tokenizer=vocabulary), vocabulary).matcher().mask()
    begin = time.process_time()
    turn = constrain.tools(given, name, tokenizer=vocabulary, choice="required")
    read = time.process_time()
    compiled = constrain.compile(turn, vocabulary)
    compiled.matcher().mask()
    done = time.process_time()
    schemas, rng, calls = {each["name"]: each["inputSchema"] for each in given}, random.Random(options.seed), []
    short, budget = np.array([len(token or b"") < 2 for token in vocabulary.tokens]), LengthBudget(compiled)
    for _ in range(options.draws if is_made else 0):
        matcher = budget.matcher(most=budget.matcher().needs_allowed() + rng.randrange(80))
        tokens = walk(matcher, vocabulary, lambda some: rng.choice(some[short[some]] if short[some].any() else some))
        message = turn.read_tokens(tokens, vocabulary)
        wrong.extend([f"{name}: {message.fault}"] if message.fault or not message.tool_calls else [])
        calls += message.tool_calls
    judged = ((call, jsonschema.Draft202012Validator(schemas[call.name]).is_valid(call.arguments)) for call in calls)
    wrong.extend(f"{name}: {call}" for call, is_valid in judged if not is_valid)
    return [name, kind[-30:-15] or kind, len(given), f"{read - begin:.2f}", f"{done - read:.2f}", len(calls)]


def walk(matcher: Any, vocabulary: constrain.Vocabulary, choose: Any, most: int = 10_000) -> list[int]:
    """The tokens of a walk to the end, or the first of them."""
    found, row = list[int](), np.zeros(vocabulary.words, np.uint32)
    while not matcher.is_finished() and len(found) < most:
        matcher.fill_mask(row)
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[: vocabulary.size])
        found.append(int(choose(allowed)))  # raises where none is allowed
        assert matcher.advance(found[-1])
    return found


def load(path: Path) -> constrain.Vocabulary:
    """The vocabulary of a file."""
    return constrain.Vocabulary.from_huggingface(path)


def tokenizers(options: argparse.Namespace) -> Any:
    """Each tokenizer of a folder: ids between two letters, own cuts of texts, added texts in adverse walks."""
    for path in sorted(options.given.glob("*/**/tokenizer.json")):
        own, vocabulary, name = Tokenizer.from_file(str(path)), load(path), path.relative_to(options.given).parts[0]
        x = own.encode("x", add_special_tokens=False).ids[-1]
        texts = {i: text for i, text in enumerate(vocabulary.tokens) if text and is_text(text)}
        decoded = {i: own.decode([x, i, x], skip_special_tokens=False).lstrip(" ") for i in texts}
        differ = [i for i, text in decoded.items() if text != vocabulary.to_bytes([x, i, x]).decode().lstrip(" ")]
        wrong.extend(f"{name}: id {i} is {texts[i]!r}, decoded as {decoded[i]!r}" for i in differ[:3])
        canonical = canonical_tokens(own, vocabulary)
        row = [name, vocabulary.size, len(texts), len(differ)]
        said = isinstance(canonical, str)
        yield (
            [*row, canonical]
            if said
            else [*row, *cuts(name, own, vocabulary, canonical), *junk(name, own, vocabulary, canonical)]
        )


def is_text(text: bytes) -> bool:
    return text.decode("utf-8", "ignore").encode() == text


def cuts(name: str, own: Tokenizer, vocabulary: constrain.Vocabulary, canonical: Any) -> list[int]:
    """Tokens of own cuts, how many are refused, at how many places one is forced, and another one."""
    added, count = [each.content for each in own.get_added_tokens_decoder().values() if not each.special], [0, 0, 0, 0]
    for text in [*TEXTS, *(f"{a}{t}{b}" for t in TEXTS for a, b in zip(added[:12], added[-12:], strict=True))]:
        ids = own.encode(text, add_special_tokens=False).ids
        written = vocabulary.to_bytes(ids).decode()  # with a blank before it, of some
        matcher = ForcedCuts.of(constrain.compile(constrain.choices([written]), vocabulary), canonical).matcher()
        for token in ids:
            only = matcher.only()
            is_taken = matcher.advance(token)
            count = [
                sum(pair) for pair in zip(count, (1, not is_taken, only >= 0, only not in (token, *NONE)), strict=True)
            ]
            if not is_taken:
                wrong.append(f"{name}: {token} of {written!r} is refused")
                break
    return count


NONE = range(-9, 0)  # `only` where several may come next


def junk(name: str, own: Tokenizer, vocabulary: constrain.Vocabulary, canonical: Any) -> list[int]:
    """Added texts in adverse walks, but blanks, and how many of them other tokens spell."""
    decoder = own.get_added_tokens_decoder().items()
    added = {e.content: i for i, e in decoder if vocabulary.tokens[i] is not None and e.content.strip(" \t\r\n▁")}
    rng, count = random.Random(name), [0, 0]
    languages: list[Any] = [constrain.choices(rng.sample(sorted(added), k)) for k in (1, 2, 3, 5) if k <= len(added)]
    for form, thinking in itertools.product(FORMATS, ("none", "optional")):
        with contextlib.suppress(constrain.ConstrainError):
            given = {"tokenizer": vocabulary, "choice": "required", "thinking": thinking}
            languages.append(constrain.tools([WEATHER], form, **given))
    texts = [text or b"" for text in vocabulary.tokens]
    begun = {one[:end].encode() for one in added for end in range(1, len(one))}
    long = np.array(list(map(len, texts)))
    begins = np.array([any(text[at:] in begun for at in range(len(text))) for text in texts])
    chosen = [lambda some: some[np.argmin(long[some])], rng.choice,
              lambda some: rng.choice(some[begins[some]] if begins[some].any() else some)]  # fmt: skip
    for language, choose in itertools.product(languages, chosen):
        tokens = walk(
            ForcedCuts.of(constrain.compile(language, vocabulary), canonical).matcher(), vocabulary, choose, 80
        )
        pieces = [vocabulary.tokens[token] or b"\0" for token in tokens]  # special ones have no text
        begin_of = dict(zip(itertools.accumulate(map(len, pieces), initial=0), tokens, strict=False))
        text = b"".join(pieces).decode("utf-8", "replace")
        encoded = own.encode(text, add_special_tokens=False)
        for token, (begin, end) in zip(encoded.ids, encoded.offsets, strict=True):
            if added.get(text[begin:end]) == token:
                is_spelled = begin_of.get(len(text[:begin].encode())) != token
                count = [count[0] + 1, count[1] + is_spelled]
                wrong.extend([f"{name}: {text[begin:end]!r} is spelled in {pieces}"] if is_spelled else [])
    return count


def main() -> int:
    """Run a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("part", choices=HEADS)
    parser.add_argument("--given", type=Path)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--limit", type=int, default=1_000, help="types, drawn by the seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps([format_row(options), wrong]))
        return 0
    names = HEADS[options.part].split(", ")
    for line in (names, ["---"] * len(names)):
        print("| " + " | ".join(line) + " |")
    for line in globals()[options.part](options):
        print("| " + " | ".join(str(each).replace("|", "\\|") for each in line) + " |", flush=True)
    print("\n".join(["", *wrong]))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
