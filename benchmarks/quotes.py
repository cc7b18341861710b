"""Quotes of a document: what `x-span` costs beside `constrain.substring`, and what errors cost.

    python benchmarks/quotes.py --model DIR --vocabulary tokenizer.model

Documents: the first 10 and 100 kB of this project's pages. Vocabularies: of a model's folder, and of a file of tiktoken
with 128,000 tokens. Read: the constraint and its automaton. First mask: with the states that it needs. Then the tokens
of three quotes of 200 characters are read, each with the mask after it: the mean and the largest. Clock: CPU time of
this thread, one core, kernels compiled before. Bias: English prose with code; a document that repeats itself less has a
smaller automaton.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import constrain
from constrain import Limits
from constrain.errors import LimitError
from constrain.masks.engine import TokenAutomaton

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 60.0


def document(size: int) -> str:
    """The first characters of the pages."""
    pages = "\n\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    return pages[:size]


def span(text: str, **options: Any) -> constrain.Constraint:
    """A string that quotes a text."""
    limits = {name: options.pop(name) for name in ("minLength", "maxLength") if name in options}
    schema = {"type": "string", "x-span": {"document": "text", **options}, **limits}
    return constrain.json_schema(schema, documents={"text": text}, limits=Limits(seconds=SECONDS))


ROWS: dict[str, Callable[[str], constrain.Constraint]] = {
    "substring, words": lambda text: constrain.substring(text, blank=False),
    "x-span, words": span,
    "x-span, words, 20 to 200 characters": lambda text: span(text, minLength=20, maxLength=200),
    "x-span, sentences": lambda text: span(text, unit="sentence"),
    "x-span, lines": lambda text: span(text, unit="line"),
    "substring, characters": lambda text: constrain.substring(text, "char"),
    "x-span, characters": lambda text: span(text, unit="char"),
    "x-span, characters, 20 to 200": lambda text: span(text, unit="char", minLength=20, maxLength=200),
    "x-span, words, 1 wrong (hamming)": lambda text: span(text, errors=1, distance="hamming"),
    "x-span, words, 1 wrong (edit)": lambda text: span(text, errors=1),
    "x-span, words, 2 wrong (edit)": lambda text: span(text, errors=2),
}


def quotes(text: str, in_json: bool) -> Iterator[str]:
    """Parts of the text that begin and end with words, as they are written."""
    rng = random.Random(1)
    for _ in range(3):
        begin = text.index(" ", rng.randrange(len(text) - 400)) + 1
        quote = text[begin : text.rindex(" ", begin, begin + 200)].strip()
        yield json.dumps(quote, ensure_ascii=False) if in_json else quote


def measured(make: Callable[[str], constrain.Constraint], text: str, vocabulary: constrain.Vocabulary) -> str:
    """One line: seconds to read, the first mask, the mean and largest later mask in milliseconds."""
    automaton = TokenAutomaton(vocabulary, limits=Limits(seconds=SECONDS))
    row = np.zeros(vocabulary.words, np.uint32)
    try:
        begun = time.thread_time()
        constraint = make(text)
        compiled = constrain.compile(constraint, vocabulary, automaton=automaton)
        matcher = compiled.matcher()
        read = time.thread_time()
        matcher.fill_mask(row)
        first = time.thread_time()
        later = []
        for quote in quotes(text, not isinstance(constraint, constrain.languages.constraints.substring.Substring)):
            matcher = compiled.matcher()
            for token in vocabulary_tokens(vocabulary, quote):
                if not matcher.advance(token):
                    break
                start = time.thread_time()
                matcher.fill_mask(row)
                later.append(1000 * (time.thread_time() - start))
    except LimitError as error:
        return f"LimitError: {error.message:.60}"
    return f"{read - begun:.2f} | {1000 * (first - read):.1f} | {fmean(later):.2f} | {max(later):.0f}"


def vocabulary_tokens(vocabulary: constrain.Vocabulary, text: str) -> list[int]:
    """The longest tokens, one after the other."""
    ids = {piece: i for i, piece in enumerate(vocabulary.tokens) if piece}
    data, at, found = text.encode(), 0, []
    while at < len(data):
        size = next(n for n in range(min(16, len(data) - at), 0, -1) if data[at : at + n] in ids)
        found.append(ids[data[at : at + size]])
        at += size
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="a folder with tokenizer.json")
    parser.add_argument("--vocabulary", required=True, help="a file of tiktoken")
    parser.add_argument("--sizes", nargs="*", type=int, default=[10_000, 100_000])
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    options = parser.parse_args()
    import transformers

    special = {f"<|{i}|>": i for i in range(128000, 128256)}
    vocabularies = {
        "49,152": constrain.Vocabulary.from_huggingface(transformers.AutoTokenizer.from_pretrained(options.model)),
        "128,256": constrain.Vocabulary.from_tiktoken(options.vocabulary, special_tokens=special, eos_ids=[128001]),
    }
    print("| constraint | kB | tokens | read, s | first mask, ms | later masks, ms | largest |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, vocabulary in vocabularies.items():
        measured(ROWS["x-span, words"], "to be or not to be " * 30, vocabulary)  # kernels, tables of the vocabulary
        for size in options.sizes:
            for row in options.rows:
                figures = measured(ROWS[row], document(size), vocabulary)
                print(f"| {row} | {size // 1000} | {name} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
