"""Languages for faithful.py: small enough that the model's true conditional law is known, by reading every prefix.

Each is met by a prompt after which the reference model would rather write something else, so that masked decoding bends
its distribution. Laws are compared over texts: all tokenisations of a text count as one outcome.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import constrain
from constrain.masks.engine import fill_masks
from constrain.models.hf.model import HFModel
from constrain.sampling import Job, Settings, TorchDraw, shaped
from constrain.sampling.methods.exact import MemberTable

LIMIT = 20_000  # prefixes


@dataclass(frozen=True)
class Case:
    """A prompt and a language: a regex, a Lark grammar or a JSON Schema as JSON text."""

    name: str
    prompt: str
    pattern: str | None = None
    grammar: str | None = None
    schema: str | None = None
    max_tokens: int = 24
    model: str = ""  # a path; of the reference model by default

    @cached_property
    def handle(self) -> HFModel:
        return HFModel.of(self.model or constrain.reference.load())

    @cached_property
    def compiled(self) -> Any:
        return constrain.compile(self.constraint, self.handle.vocabulary)

    @property
    def constraint(self) -> Any:
        if self.pattern is not None:
            return constrain.regex(self.pattern)
        if self.schema is not None:
            return constrain.json_schema(self.schema, whitespace="compact")
        return constrain.grammar(self.grammar or "")

    @cached_property
    def prompt_ids(self) -> list[int]:
        return list(self.handle.tokenizer(self.prompt)["input_ids"])

    def text(self, tokens: Sequence[int]) -> bytes:
        return self.handle.vocabulary.to_bytes(tokens)

    def job(self, seed: int, streams: Sequence[int] = (0,), masked: bool = True) -> Job:
        vocabulary = self.handle.vocabulary
        return Job(
            model=self.handle,
            prompts=[self.prompt_ids] * len(streams),
            matchers=[self.compiled.matcher() for _ in streams] if masked else None,
            size=vocabulary.size,
            eos_ids=vocabulary.eos_ids,
            settings=Settings(max_tokens=self.max_tokens),
            draw=TorchDraw(seed),
            streams=streams,
            fill_masks=fill_masks,
            constraint_key=self.name,
            token_bytes=vocabulary.tokens,
        )

    @cached_property
    def truth(self) -> tuple[dict[bytes, float], float, int]:
        """(π by text, log Z, members as token sequences), by forwards over the trie of all prefixes."""
        table = MemberTable(shaped(self.job(0)), 0, limit=LIMIT, batch=256)
        law: Counter[bytes] = Counter()
        for member in table.members:
            law[self.text(member.tokens)] += math.exp(member.log_prob - table.log_mass)
        return dict(law), table.log_mass, len(table.members)


CASES = {
    case.name: case
    for case in (
        Case("month", "Date: ", "(19|20)[0-9]{2}-(0[1-9]|1[0-2])"),
        Case("skewed", "Bits: ", "0000000|1[01]{6}"),
        Case("colours", "SELECT name FROM t WHERE colour = '", "(red|green|blue|orange)( (red|green|blue|orange))?"),
        Case("version", "Version: ", r"v?[1-9]\.[0-9](\.[0-9])?"),
        Case("dyck", "def f(): return ", grammar='start: s\ns: | "(" s ")" s', max_tokens=9),
    )
}
