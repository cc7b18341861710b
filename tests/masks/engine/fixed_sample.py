"""A fixed sample of constraints, texts and vocabularies: what their masks are, and how much work the kernels do.

    python tests/masks/engine/fixed_sample.py             what differs from the tables
    python tests/masks/engine/fixed_sample.py --write   write the tables anew: masks or work changed, and that was meant

A row of `tests/data/mask_digests.tsv` is one text: vocabulary, constraint, which text, number of masks, and the first
16 hexadecimal digits of the BLAKE2b digest of the masks before each of its tokens and after the last. Texts are split
into the longest tokens from the left; the text called "walk" takes, at each step, an allowed token that the digest so
far chooses, and so comes by tokens that nobody would think of. A text ends where a token is not allowed. Schemas are
sampled with `spelling="any"`, and again, under two vocabularies, with the default.
`tests/data/kernel_work.toml` has counts of what the kernels did, summed up over the sample of a vocabulary.

Cost: about 10 s, and two minutes after a change of kernels.
Limit: what is compiled first pays for what is shared, so counts belong to the sample as a whole.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # as a script it has neither pytest's path nor the package's
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np
import pytest

import constrain
import vocabularies
from conftest import data_path
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.configurations import CONFIG
from constrain.kernels.records.expressions import ALT, AND, BYTES, CAT, NOT, REMAINDER, REP, TAG
from constrain.kernels.records.parser_states import PARSER, SCAN
from constrain.kernels.records.schema import KIND_MASK
from constrain.languages.constraints.base import Constraint
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import CompiledConstraint, Matcher, TokenAutomaton

DATA = Path(__file__).parents[2] / "data"
DIGESTS, WORK = DATA / "mask_digests.tsv", DATA / "kernel_work.toml"
BUDGET = 1 << 30  # bytes; nothing is forgotten, so that every count is of the whole sample
WALK = 16  # tokens
MAX_TOKENS = 200  # of a text
COUNTERS = {
    "trie_nodes": HEADER.NODES_VISITED, "steps": HEADER.STEPS_MADE, "inside_sets": HEADER.TABLES_MADE,
    "masks": HEADER.MASKS_MADE, "whole_walks": HEADER.WHOLE_WALKS, "records": HEADER.RECORDS, "words": HEADER.TOP,
}  # fmt: skip
KINDS = {
    "configurations": [CONFIG.KIND],
    "parser_states": [PARSER.KIND],
    "scans": [SCAN.KIND],
    "lexer_states": [BYTES.KIND, CAT.KIND, ALT.KIND, AND.KIND, NOT.KIND, REP.KIND, TAG.KIND, REMAINDER.KIND],
}


@dataclass(frozen=True)
class Case:
    """A constraint and the texts to be read under it."""

    name: str
    make: Callable[[], Constraint]
    texts: list[str]


@cache
def reference_vocabulary() -> Vocabulary:
    """The 3,072 tokens of the embedded model; its tokenizer alone is read."""
    from transformers import PreTrainedTokenizerFast

    return Vocabulary.from_huggingface(PreTrainedTokenizerFast.from_pretrained(constrain.reference.path()))


SAMPLES: dict[str, tuple[Callable[[], Vocabulary], Callable[[], list[Case]]]] = {
    "reference": (reference_vocabulary, lambda: written_cases("any")),
    "spm32k": (vocabularies.sentencepiece32k, lambda: written_cases("any")),
    "tekken": (vocabularies.tekken, lambda: written_cases("any")),
    "llama3": (vocabularies.llama3, lambda: maskbench_cases("any")),
    "reference-plain": (reference_vocabulary, lambda: written_cases("plain")),
    "llama3-plain": (vocabularies.llama3, lambda: maskbench_cases("plain")),
}


def written_cases(spelling: str) -> list[Case]:
    """The cases of tests/data/mask_sample.toml; in the spelling of most users only the schemas."""
    with (DATA / "mask_sample.toml").open("rb") as file:
        rows = tomllib.load(file)["case"]
    chosen = [row for row in rows if "schema" in row or spelling == "any"]
    return [Case(row["name"], lambda row=row: source_of(row, spelling), row["texts"]) for row in chosen]


def source_of(row: dict[str, Any], spelling: str) -> Constraint:
    options = row.get("options", {})
    if "schema" in row:
        return constrain.json_schema(row["schema"], spelling=spelling, **options)
    if "regex" in row:
        return constrain.regex(row["regex"])
    if "choices" in row:
        return constrain.choices(row["choices"])
    if "gbnf" in row:
        return constrain.grammar(row["gbnf"], format="gbnf", start="root", **options)
    return constrain.grammar(row["lark"], **options)


def maskbench_cases(spelling: str) -> list[Case]:
    """The MaskBench files that tests/data/mask_sample.toml names; two valid instances of each."""
    data_path("tokenizers")  # Llama 3 itself, no stand-in: digests are of its tokens
    folder = data_path("maskbench-dev")
    with (DATA / "mask_sample.toml").open("rb") as file:
        names = tomllib.load(file)["maskbench"]
    cases = []
    for name in names:
        content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        valid = [json.dumps(t["data"], ensure_ascii=False) for t in content["tests"] if t["valid"]][:2]
        make = lambda schema=content["schema"]: constrain.json_schema(schema, spelling=spelling)  # noqa: E731
        cases.append(Case(name, make, valid))
    return cases


# --- masks ------------------------------------------------------------------------------------------------------------


Rows = dict[tuple[str, str, str], str]  # (vocabulary, constraint, text) -> "masks digest"
Counts = dict[str, int]


def run(name: str) -> tuple[Rows, Counts]:
    """The masks of a vocabulary's sample, and the work that they were."""
    make, cases = SAMPLES[name]
    vocabulary = make()
    automaton = TokenAutomaton(vocabulary, budget=BUDGET)
    before = counts_of(automaton)
    split = splitter(vocabulary)
    rows: Rows = {}
    for case in cases():
        compiled = constrain.compile(case.make(), vocabulary, automaton=automaton)
        for number, text in enumerate(case.texts):
            rows[name, case.name, str(number)] = digest_of_text(compiled.matcher(), split(text.encode()))
        rows[name, case.name, "walk"] = digest_of_walk(compiled, f"{name} {case.name}")
    assert automaton.epoch == 0, "the sample does not fit into its budget"
    after = counts_of(automaton)
    return rows, {counter: after[counter] - before[counter] for counter in after}


def digest_of_text(matcher: Matcher, tokens: list[int]) -> str:
    masks = Masks(matcher, matcher.compiled.vocabulary.words)
    for token in tokens[:MAX_TOKENS]:
        if not matcher.advance(token):
            break
        masks.take()
    return masks.found()


def digest_of_walk(compiled: CompiledConstraint, seed: str) -> str:
    matcher = compiled.matcher()
    eos = compiled.vocabulary.eos_ids
    masks = Masks(matcher, compiled.vocabulary.words)
    for step in range(WALK):
        tokens = np.flatnonzero(np.unpackbits(masks.row.view(np.uint8), bitorder="little"))
        tokens = tokens[~np.isin(tokens, eos)]
        if not tokens.size:
            break
        chosen = hashlib.blake2b(f"{seed} {step}".encode(), digest_size=8).digest()
        assert matcher.advance(tokens[int.from_bytes(chosen, "little") % tokens.size])
        masks.take()
    return masks.found()


class Masks:
    """The digest of a matcher's masks, one after the other."""

    def __init__(self, matcher: Matcher, words: int) -> None:
        self.matcher = matcher
        self.row = np.empty(words, np.uint32)
        self._digest = hashlib.blake2b(digest_size=8)
        self._number = 0
        self.take()

    def take(self) -> None:
        self.row[:] = 0xA5A5A5A5
        self.matcher.fill_mask(self.row)
        self._digest.update(self.row.astype("<u4", copy=False).tobytes())
        self._number += 1

    def found(self) -> str:
        return f"{self._number}\t{self._digest.hexdigest()}"


def splitter(vocabulary: Vocabulary) -> Callable[[bytes], list[int]]:
    """Text -> the longest tokens from the left; a byte that begins none ends the text."""
    ids: dict[bytes, int] = {}
    for i, token in enumerate(vocabulary.tokens):
        if token:
            ids.setdefault(token, i)
    longest = max(map(len, ids))

    def pieces(text: bytes) -> Iterator[int]:
        at = 0
        while at < len(text):
            for stop in range(min(len(text), at + longest), at, -1):
                if text[at:stop] in ids:
                    yield ids[text[at:stop]]
                    at = stop
                    break
            else:
                return

    return lambda text: list(pieces(text))


# --- work -------------------------------------------------------------------------------------------------------------


def counts_of(automaton: TokenAutomaton) -> Counts:
    """The kernels' counters so far, and the number of records that they have made, by kind."""
    counts = {name: int(automaton.memory.A[word]) for name, word in COUNTERS.items()}
    records = automaton.memory.H[automaton.memory.H != 0]
    kinds = np.bincount(automaton.memory.A[records] & KIND_MASK, minlength=KIND_MASK + 1)
    return counts | {name: int(kinds[list(of)].sum()) for name, of in KINDS.items()}


# --- tables -----------------------------------------------------------------------------------------------------------


def read_digests() -> Rows:
    lines = DIGESTS.read_text(encoding="utf-8").splitlines() if DIGESTS.exists() else []
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {(vocabulary, name, text): f"{masks}\t{digest}" for vocabulary, name, text, masks, digest in rows}


def read_work() -> dict[str, Counts]:
    return tomllib.loads(WORK.read_text(encoding="utf-8")) if WORK.exists() else {}


def differences(old: Rows, new: Rows) -> list[str]:
    """A line for each row that is not the same."""
    keys = [*old, *(key for key in new if key not in old)]
    changed = [key for key in keys if old.get(key) != new.get(key)]
    return [f"{' '.join(key)}: {old.get(key, 'none')} -> {new.get(key, 'none')}" for key in changed]


def write(rows: Rows, work: dict[str, Counts]) -> None:
    lines = [
        "# vocabulary, constraint, text, masks, digest: see tests/masks/engine/fixed_sample.py, which writes this file"
    ]
    lines += ["\t".join([*key, found]) for key, found in rows.items()]
    DIGESTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    parts = ["# Work of the kernels over the sample of tests/masks/engine/fixed_sample.py, which writes this file\n"]
    for name, counts in work.items():
        parts.append(f"\n[{name}]\n" + "".join(f"{key} = {count}\n" for key, count in counts.items()))
    WORK.write_text("".join(parts), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the tables")
    arguments = parser.parse_args()
    old, before = read_digests(), read_work()
    rows, work = dict(old), dict(before)
    for name in SAMPLES:
        try:
            found, work[name] = run(name)
        except pytest.skip.Exception as reason:
            print(f"{name}: left as it is: {reason}")
            continue
        rows = {key: row for key, row in rows.items() if key[0] != name} | found
    for line in differences(old, rows):
        print(line)
    for name, counts in work.items():
        for key, count in counts.items():
            known = before.get(name, {}).get(key)
            if known != count:
                print(f"{name} {key}: {known} -> {count}" + (f", x {count / known:.3f}" if known else ""))
    if arguments.write:
        write(rows, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
