"""One grammar on its texts: accepted texts, viable prefixes, and verdicts on changed texts beside the oracle's.

A text is read byte by byte, so that every cut is asked about. A changed text starts from the matcher at the place of
the change: what lies before it is read once. A change replaces, removes, doubles or inserts one byte at a place drawn
by a seed; new bytes are mostly what languages are made of (the text's own, ASCII punctuation, digits, white space),
since a change that both sides refuse at once tells little; one in twenty is any byte.

A record of a text: {"name", "bytes", "accepted", "allowed": bytes up to the first that was refused, "mutants",
"agree", "beyond": the oracle's verdict is None, "disagreements": [{"change", "at", "ours", "oracle", "around"}],
"seconds"}. `allowed` is all bytes iff the text can be cut anywhere.
"""

from __future__ import annotations

import string
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import constrain
from languages.oracles import Oracle

Record = dict[str, Any]
AROUND = 40  # bytes shown on either side of a change
BYTES = 256
COMMON = (string.punctuation + string.digits + " \n\taeEnfx").encode()


@dataclass(frozen=True)
class Mutant:
    """The text up to `at`, then `rest`. change: in words."""

    at: int
    rest: bytes
    change: str


def mutants(text: bytes, random: Random, count: int) -> Iterator[Mutant]:
    """`count` changed texts, in the order of their places; none equals the text."""
    places = sorted(random.randrange(len(text) + 1) for _ in range(count))
    for at in places:
        new = bytes([_byte(text, random)])
        kind = random.choice(("replace", "remove", "double", "insert")) if at < len(text) else "insert"
        old = text[at : at + 1]
        if kind == "replace" and new != old:
            yield Mutant(at, new + text[at + 1 :], f"{old!r} replaced by {new!r}")
        elif kind == "remove":
            yield Mutant(at, text[at + 1 :], f"{old!r} removed")
        elif kind == "double":
            yield Mutant(at, old + text[at:], f"{old!r} doubled")
        else:
            yield Mutant(at, new + text[at:], f"{new!r} inserted")


def _byte(text: bytes, random: Random) -> int:
    draw = random.random()
    if draw < 0.05:
        return random.randrange(256)
    return random.choice(text if text and draw < 0.5 else COMMON)


def judge(
    source: Any, texts: Iterable[tuple[str, bytes]], oracle: Oracle | None, seed: int, changes: int
) -> Iterator[Record]:
    """The records of (name, text) pairs, all of which are members. changes: mutants of each text."""
    compiled = constrain.compile(source, constrain.Vocabulary.of_bytes())
    for name, text in texts:
        begin = time.thread_time()
        random = Random(f"{seed} {name}")
        changed = list(mutants(text, random, changes)) if oracle is not None else []
        record = _read(compiled, text, changed, oracle)
        yield {"name": name, "bytes": len(text), **record, "seconds": round(time.thread_time() - begin, 4)}


def _read(compiled: Any, text: bytes, changed: list[Mutant], oracle: Oracle | None) -> Record:
    """Read a text; on the way, read each changed text from the place of its change."""
    matcher = compiled.matcher()
    pending = changed[::-1]
    record: Record = {"accepted": False, "allowed": 0, "mutants": len(changed), "agree": 0, "beyond": 0}
    record["disagreements"] = []
    for index in range(len(text) + 1):
        while pending and pending[-1].at == index:
            _compare(matcher.fork(), text, pending.pop(), oracle, record)
        if index == len(text):
            record["accepted"] = matcher.is_accepting()
        elif not matcher.advance_bytes(text[index : index + 1]):
            break
        else:
            record["allowed"] = index + 1
    for mutant in pending:  # beyond the byte that was refused: the whole text is
        _count(False, text, mutant, oracle, record)
    return record


def _compare(matcher: Any, text: bytes, mutant: Mutant, oracle: Oracle | None, record: Record) -> None:
    ours = (not mutant.rest or matcher.advance_bytes(mutant.rest)) and matcher.is_accepting()
    _count(ours, text, mutant, oracle, record)


def _count(ours: bool, text: bytes, mutant: Mutant, oracle: Oracle | None, record: Record) -> None:
    assert oracle is not None
    theirs = oracle(text[: mutant.at] + mutant.rest)
    if theirs is None:
        record["beyond"] += 1
    elif ours == theirs:
        record["agree"] += 1
    else:
        around = text[max(0, mutant.at - AROUND) : mutant.at] + mutant.rest[:AROUND]
        found = {"change": mutant.change, "at": mutant.at, "ours": ours, "oracle": theirs}
        record["disagreements"].append(found | {"around": around.decode("utf-8", errors="backslashreplace")})
