"""The score of one schema: all engines over its texts, findings as rows."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from exact.places import OPEN, Judge, Verdict
from exact.walker import STRUCTURE, unpacked
from masks.vocabularies import BenchVocabulary
from masks.workers import WorkerError

FINISHES = 12  # open tokens of a file that engines are asked to finish
UNCALM = re.compile(rb"[\x00-\x1f\x7f]|  | $|^ [^ -~]")  # blanks, mostly: a convention where no string is open
Mask = np.ndarray
Asked = dict[str, Any]


class Asking(Protocol):
    """A worker: `masks.workers.Worker`."""

    def ask(self, request: Any, limit: float) -> Any: ...


class Tokens:
    """Kinds of tokens of a vocabulary."""

    def __init__(self, vocabulary: BenchVocabulary) -> None:
        self.vocabulary = vocabulary
        self.lengths = np.array([len(token or b"") for token in vocabulary.tokens])
        self.real = np.flatnonzero(self.lengths)
        texts = [token or b" " for token in vocabulary.tokens]
        self.calm = np.array([not UNCALM.search(text) for text in texts])
        self.structure = np.array([STRUCTURE.issuperset(text) for text in texts]) & self.calm

    def bytes(self, walk: list[int]) -> bytes:
        """The text of tokens."""
        return b"".join(self.vocabulary.tokens[i] or b"" for i in walk)

    def shown(self, token: int) -> str:
        """A token as text."""
        is_end = token == self.vocabulary.eos_id
        return "<end>" if is_end else self.bytes([token]).decode(errors="backslashreplace")


class File:
    """One schema, all engines."""

    def __init__(
        self, name: str, schema: Any, instances: list[Any], tokens: Tokens, workers: Mapping[str, Asking], options: Any
    ) -> None:
        """instances: valid ones. options: seed, time_limit, and numbers of `tokens`, `instances`, `adverse`."""
        self.name, self.schema, self.options = name, schema, options
        self.tokens, self.workers, self.vocabulary = tokens, workers, tokens.vocabulary
        self.judge = Judge(schema, instances)
        self.met = set[tuple[int, ...]]()  # places that were compared
        self.rng = random.Random(f"{options.seed} {name}")
        counts = dict.fromkeys(("places", "tokens", "disputed", "undecided"), 0)
        self.report: Asked = {"file": name, "engines": {}, "rows": [], "named": {}, "open": [], **counts}

    def ask(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """An engine's answer, which may be an error."""
        mine = self.report["engines"].setdefault(name, {"error": None, "seconds": 0.0, "places": 0})
        try:
            found = self.workers[name].ask(request, self.options.time_limit)
        except WorkerError as error:
            found = {"error": error.kind, "message": str(error), "seconds": 0.0}
        mine["seconds"] = round(mine["seconds"] + found["seconds"], 3)
        if "error" in found:
            mine |= {"error": found["error"], "message": found["message"][:200]}
        return found

    def score(self) -> dict[str, Any]:
        """The report of this file."""
        options = self.options
        ready = [name for name in self.workers if "error" not in self.ask(name, {"schema": self.schema})]
        for name, mine in self.report["engines"].items():
            if mine["error"] == "empty" and self.judge.valid:
                text = json.dumps(self.judge.valid[0], ensure_ascii=False)
                self.row(name, "refused", "the schema", [], None, text, None)
        texts = [json.dumps(each, ensure_ascii=False) for each in self.judge.valid[: options.instances]]
        walks = [self.vocabulary.encode(text)[: options.tokens] for text in texts]
        for name in ready if options.adverse else ():
            walk = self.ask(name, {"adverse": [f"{options.seed} {self.name}", options.adverse]}).get("walk")
            walks += [walk] if walk and walk not in walks else []
        masks = {name: found for name in ready if (found := self.ask(name, {"walks": walks}).get("masks"))}
        left = [each for i, walk in enumerate(walks) for each in self.walk(walk, {n: m[i] for n, m in masks.items()})]
        self.finish(left)
        return self.report

    def walk(self, walk: list[int], masks: dict[str, list[str]]) -> list[Any]:
        """Compare the masks along a text; what stays open."""
        left, prefix = [], b""
        for at in range(len(walk) + 1):
            here = {name: unpacked(of[at], len(self.vocabulary.tokens)) for name, of in masks.items() if at < len(of)}
            if not here:
                break
            if (key := tuple(walk[:at])) not in self.met:
                self.met.add(key)
                self.report["places"] += 1
                for name in here:
                    self.report["engines"][name]["places"] += 1
                left += self.place(walk[:at], prefix, here, walk[at] if at < len(walk) else None)
            if at < len(walk):
                prefix += self.vocabulary.tokens[walk[at]] or b""
                if self.judge.dead(prefix).state == "dead":
                    break
        return left

    def place(self, walk: list[int], prefix: bytes, here: dict[str, Mask], following: int | None) -> list[Any]:
        """Judge tokens of one place; what stays open."""
        found: dict[tuple[str, str, str | None], tuple[Any, ...]] = {}
        left = []
        for token, differ in self.drawn(here, following):
            allow = [name for name, bits in here.items() if bits[token]]
            refuse = [name for name in here if name not in allow]
            verdict = self.verdict(prefix, token, bool(refuse))
            self.report["tokens"] += 1
            self.report["disputed"] += differ
            if verdict.state == "open" and differ:
                left.append((walk, prefix, token, allow, {name: here[name] for name in refuse}))
            wrong = allow if verdict.state == "dead" else refuse if verdict.state == "live" else []
            kind = "allowed" if verdict.state == "dead" else "refused"
            for name in wrong:
                named = verdict.named or (
                    self.forced(here[name], prefix, verdict.witness) if kind == "refused" else None
                )
                found.setdefault((name, kind, named), (verdict, token))
        self.note(walk, found)
        return left

    def forced(self, bits: Mask, prefix: bytes, witness: str) -> str | None:
        """ "forced cut" where an engine allows one token, and the text that it refused goes on with that one."""
        only = np.flatnonzero(bits)
        if len(only) != 1 or not witness.encode().startswith(prefix + (self.vocabulary.tokens[only[0]] or b"?")):
            return None
        return "forced cut"

    def note(self, walk: list[int], found: dict[tuple[str, str, str | None], tuple[Any, ...]]) -> None:
        """Rows of a place: of an engine one of a kind, errors before conventions."""
        for (name, kind, named), (verdict, token) in found.items():
            if named is None or (name, kind, None) not in found:
                self.row(name, kind, verdict.why, walk, token, verdict.witness, named)

    def drawn(self, here: dict[str, Mask], following: int | None) -> list[tuple[int, bool]]:
        """Tokens to judge, and whether engines differ on them."""
        signs = np.zeros(len(self.vocabulary.tokens), np.uint8)
        for i, bits in enumerate(here.values()):
            signs |= bits.view(np.uint8) << i
        chosen: dict[int, bool] = {}
        every = (1 << len(here)) - 1
        for token in (self.vocabulary.eos_id, following):
            if token is not None:
                chosen[token] = 0 < int(signs[token]) < every
        for sign in np.flatnonzero(np.bincount(signs[self.tokens.real])).tolist():
            differ = 0 < sign < every
            some = self.tokens.real[signs[self.tokens.real] == sign]
            short = some[self.tokens.lengths[some] == self.tokens.lengths[some].min()]
            calm, shaped = (self.tokens.calm[some], self.tokens.structure[some]) if differ else (some < 0, some < 0)
            draws = [short, some[shaped], some[calm], some[calm], some] if differ else [some]
            chosen |= {int(each[self.rng.randrange(len(each))]): differ for each in draws if len(each)}
        return list(chosen.items())

    def verdict(self, prefix: bytes, token: int, refused: bool) -> Verdict:
        """The proof about a token, as far as it matters."""
        if token == self.vocabulary.eos_id:
            return self.judge.whole(prefix)
        data = prefix + (self.vocabulary.tokens[token] or b"")
        found = self.judge.dead(data)
        return found if found.state == "dead" or not refused else self.judge.live(data)

    def finish(self, left: list[Any]) -> None:
        """Ask engines that allow an open token for a valid end."""
        self.rng.shuffle(left)
        for number, (walk, prefix, token, allow, refuse) in enumerate(left):
            shown = OPEN
            data = prefix + (self.vocabulary.tokens[token] or b"")
            for name in allow[:2] if number < FINISHES and token != self.vocabulary.eos_id else ():
                if self.report["engines"][name]["error"] is None:
                    whole = self.ask(name, {"finish": [*walk, token]}).get("walk")
                    text = self.tokens.bytes(whole or [])
                    judged = self.judge.whole(text, len(data))
                    shown = judged if whole and judged.state == "live" else shown
                    if shown.state == "live" and shown.named is None:
                        break
            self.report["undecided"] += shown is OPEN
            if shown is OPEN and len(self.report["open"]) < 3:
                self.report["open"].append([prefix.decode(errors="replace"), self.tokens.shown(token), allow])
            for name, bits in refuse.items() if shown is not OPEN else ():
                named = shown.named or self.forced(bits, prefix, shown.witness)
                self.row(name, "refused", shown.why, walk, token, shown.witness, named)

    def row(
        self, name: str, kind: str, why: str, walk: list[int], token: int | None, witness: str, named: str | None
    ) -> None:
        """Note a finding; of what a convention names, the first and how many."""
        if named is not None:
            counts = self.report["named"].setdefault(name, {})
            counts[named] = counts.get(named, 0) + 1
            if counts[named] > 1:
                return
        text = self.tokens.bytes(walk).decode(errors="backslashreplace")
        last = None if token is None else self.tokens.shown(token)
        row = {"file": self.name, "engine": name, "kind": kind, "keyword": why, "named": named, "walk": walk}
        self.report["rows"].append({**row, "token": token, "prefix": text, "last": last, "witness": witness})
