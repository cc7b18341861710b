"""Masks under monitors beside an oracle, for every token id of real vocabularies.

Question: at places along walks, has a mask exactly the tokens that grammar and monitor both accept?

    python benchmarks/monitor_oracle.py --places 300 --vocab smollm2 llama3 gemma3 --out benchmarks/record/<date>-oracle

The oracle is that of the tests (tests/monitors/mask_oracle.py): the grammar's mask, and a reading of the bytes of each
of its tokens that knows nothing of what masks are made with. A token that both accept may be missing only if a search
that tries each byte finds nothing behind it; of the allowed ones `--sampled` a place are searched likewise. The first
difference ends the run. Places: a walk begins in the middle of a text of monitor_walks.py and draws `--tokens` tokens
as the walks there do; where the monitor knows the names each place counts, elsewhere one in four.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from pathlib import Path
from typing import Any

import constrain
from constrain.languages.vocab.bits import tokens_of
from constrain.monitors import accepted_beginning
from constrain.monitors.reading import MonitorReading
from masks import vocabularies
from masks.records import data_folder, machine, write_run
from masks.summary import table
from monitor_walks import CASES, Tokens

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "monitors"))

from mask_oracle import MaskOracle, TokenTexts


def parse() -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=[*CASES], choices=[*CASES])
    parser.add_argument("--vocab", nargs="*", default=["smollm2", "llama3", "gemma3"])
    parser.add_argument("--places", type=int, default=300, help="of a monitor and vocabulary")
    parser.add_argument("--tokens", type=int, default=6, help="of a walk")
    parser.add_argument("--sampled", type=int, default=2, help="allowed tokens of a place that are searched")
    parser.add_argument("--data", type=Path, help="folder of data (default: $CONSTRAIN_DATA, ../shared/data)")
    parser.add_argument("--out", type=Path, help="folder for the record")
    return parser.parse_args()


def measure(case: str, name: str, tokens: Tokens, listed: TokenTexts, options: argparse.Namespace) -> dict[str, Any]:
    """The row of the table of one monitor and vocabulary."""
    grammar, monitor, texts = CASES[case]
    oracle = MaskOracle(constrain.collection.load(grammar), monitor, tokens.vocabulary, listed)
    texts = [accepted_beginning(monitor, text) for text in texts]
    row = {"monitor": case, "vocabulary": name, "places": 0, "with names": 0, "asked": 0, "refused": 0, "apart": 0}
    reading, seed, begun = MonitorReading(oracle.monitor), 0, time.process_time()
    while row["places"] < options.places:
        rng, seed = random.Random(f"{case} {seed}"), seed + 1
        text = rng.choice(texts).encode()
        text, matcher = text[: rng.randrange(len(text) + 1)], oracle.compiled.matcher()
        while not matcher.advance_bytes(text):  # inside of a character or a keyword
            text, matcher = text[:-1], oracle.compiled.matcher()
        for _ in range(options.tokens):
            at = reading.step(reading.start(), bytes(matcher.text))
            assert at is not None, matcher.text
            has_names = reading.language(at) is not None
            if has_names or rng.randrange(4) == 0:
                found = oracle.check(matcher, rng, options.sampled)
                row["places"] += 1
                row["with names"] += has_names
                row["asked"] += int(found.asked.sum())
                row["refused"] += found.refused
                row["apart"] += found.apart
            allowed = tokens_of(matcher.mask())
            allowed = allowed[~tokens.is_eos[allowed]]
            if not len(allowed) or row["places"] == options.places:
                break
            assert matcher.advance(tokens.draw(allowed, rng))
    return row | {"CPU s": round(time.process_time() - begun)}


def main() -> None:
    """Measure."""
    options = parse()
    gc.disable()  # it goes through all states of a place, which are dropped behind it
    records: list[dict[str, Any]] = []
    for name in options.vocab:
        read = vocabularies.load(name, data_folder(options.data))
        vocabulary = constrain.Vocabulary(read.tokens, eos_ids=[read.eos_id])
        tokens, listed = Tokens(vocabulary), TokenTexts(vocabulary)
        for case in options.cases:
            records.append(measure(case, name, tokens, listed, options))
            gc.collect()
            print(*records[-1].values(), flush=True)
            summary = table([*records[0]], [[str(value) for value in record.values()] for record in records])
            if options.out:  # after each monitor: a run may be cut off
                write_run(options.out, {"command": "monitor_oracle", **machine()}, records, summary)


if __name__ == "__main__":
    main()
