"""`ByteModel`: a model read byte by byte, so that models of different tokenizers speak one language.

Measured with SmolLM2: a byte costs 1.0 forward passes with two covers, 0.006 nats from the sum over all, and 2.4 with
eight, 4e-8 nats from it. Pays where models of several vocabularies meet, and not for speed (record 2026-11-29-papers).

A text may be cut into tokens in many ways. The probability that a text begins with the bytes t is the sum over its
*covers*: sequences of tokens that spell t, or go beyond it with their last token (Vieira et al. 2024, "From language
models over tokens to language models over characters", arXiv 2412.03719, section 3). So

    P(t) = Σ p(x) · Σ_{v begins with r} p(v | x)        over cuts of t: whole tokens x, then the rest r
    p(b | t) = P(t b) / P(t)        p(end | t) = Σ_{x spells t} p(x) p(end | x) / P(t)

A cover is kept as its whole tokens and the range of tokens, in alphabetical order, that begin with the rest. A byte
narrows each range; where the rest is a token, one more cover begins behind it, and the model is asked there.

State: the covers, a function of the text. Distribution: that of the model's texts, exactly, with `covers=None`. The
number of covers grows with the text, so by default the heaviest ones are kept, one that ends at the text's end among
them; the distribution is then p of the kept covers, renormalised at every byte, and still a language model. What they
leave out is measured in docs/howto/processors.md.

Prompts are cut by the model's own tokenizer, as everywhere else, and an output begins with a new token.
Cost: the model reads a token for each cover that begins at a byte: a forward pass for each session that they come from.
Limit: tokens that are no text (but ends) have no bytes, and their mass is left out at every place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.generation.handles import handle_of
from constrain.generation.request.prompts import tokenize
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.sampling.core.model import Session
from constrain.sampling.core.sampler import check_count

END = 256  # the id that ends a text
PROMPT, AS_IT_STANDS = 257, 258  # what ends a prompt: with what the tokenizer puts around a text, or without


class ByteModel:
    """A model whose tokens are bytes; see the module `constrain.papers.composed.byte_model`.

    Args:
        model: what `generate` takes as a model.
        covers: how many covers of a text are kept, at least; None: all, which is exact, and for short texts.
        tokenizer: for a model that comes without one.

    Raises:
        ConstrainError: covers is no int of at least 1, or a prompt is not given as text.

    Source:
        Vieira et al. 2024, arXiv 2412.03719, section 3.

    Example:
        >>> import constrain
        >>> from constrain.papers.composed import ByteModel
        >>> model = ByteModel(constrain.reference.load(), covers=4)
        >>> constrain.generate(model, "A date: ", regex="[0-9]{4}", seed=1).finish_reason
        'stop'
    """

    width = END + 1
    context: int | None = None
    ragged = True

    def __init__(self, model: Any, *, covers: int | None = 8, tokenizer: Any = None) -> None:
        self.part: Any = handle_of(model, tokenizer)
        self.covers = None if covers is None else check_count("covers", covers)
        self.vocabulary = Vocabulary.of_bytes()
        self.tokenizer = ByteTokenizer()

    @cached_property
    def table(self) -> TokenTable:
        """The model's tokens in alphabetical order."""
        vocabulary = self.part.vocabulary
        return TokenTable(vocabulary.tokens, sorted(vocabulary.eos_ids))

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[Session, list[torch.Tensor]]:
        """Begin sessions; of a prompt, only the last position has logits."""
        places = [prompt_end(prefix) for prefix in prefixes]
        prompts = [self._tokens_of(prefix[:place]) for prefix, place in zip(prefixes, places, strict=True)]
        session, logits = self.part.start(prompts, [1] * len(prompts))
        rows = [
            [self.table.cover(session, row, len(prompt), 0.0, given[-1])]
            for row, (prompt, given) in enumerate(zip(prompts, logits, strict=True))
        ]
        opened = ByteSession(self, rows)
        first = [self.table.next_bytes(row) for row in rows]
        written = [list(prefix[place:]) for prefix, place in zip(prefixes, places, strict=True)]
        found = [torch.cat([before[None], after]) for before, after in zip(first, opened.read(written), strict=True)]
        return opened, [_last(each, kept) for each, kept in zip(found, keep, strict=True)]

    def _tokens_of(self, prompt: Sequence[int]) -> list[int]:
        """The model's own tokens of a prompt."""
        text = bytes(prompt[:-1]).decode("utf-8", "surrogateescape")
        ids = tokenize(self.part.tokenizer, text, special=prompt[-1] == PROMPT)
        roles = ("bos_token_id", "eos_token_id")  # where a prompt is empty
        ids = ids or [token for role in roles if (token := getattr(self.part.tokenizer, role, None)) is not None][:1]
        if not ids:
            raise ConstrainError("the prompt is empty, and the tokenizer has no token to begin a text with")
        return list(ids)


def prompt_end(prefix: Sequence[int]) -> int:
    """The length of the prompt in a prefix of prompt and output. Raises ConstrainError: no end of a prompt is in it."""
    for place, token in enumerate(prefix):
        if token >= PROMPT:
            return place + 1
    raise ConstrainError("a model of bytes reads prompts as texts", fix="pass the prompt as a str")


def _last(logits: torch.Tensor, kept: int) -> torch.Tensor:
    """The last places; places inside the prompt, which nobody has asked the model about, count as the first."""
    if kept > len(logits):
        return torch.cat([logits[:1].expand(kept - len(logits), -1), logits])
    return logits[len(logits) - kept :]


class ByteTokenizer:
    """Prompts as bytes, with a mark that ends them."""

    chat_template = None

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """{"input_ids": bytes and the mark}."""
        return {"input_ids": [*text.encode(), PROMPT if add_special_tokens else AS_IT_STANDS]}


@dataclass(frozen=True)
class Cover:
    """A way to cut a text: whole tokens, and the tokens that may come next, of which the text has a beginning.

    session, row: where the model has read the whole tokens; length: how many those are, with the prompt.
    log_weight: log p of the whole tokens, up to a constant of the text.
    shares: float64[n + 1], p of each token in alphabetical order, and of the end. low, high: what may come of these.
    depth: bytes of the text since the whole tokens.
    """

    session: Any
    row: int
    length: int
    log_weight: float
    shares: np.ndarray
    low: int
    high: int
    depth: int

    @property
    def log_mass(self) -> float:
        """log of the probability of the texts that it stands for."""
        total = float(self.shares[self.low : self.high].sum())
        return self.log_weight + math.log(total) if total > 0 else -math.inf


class TokenTable:
    """The tokens of a vocabulary that are text, in alphabetical order of their bytes: a range begins alike.

    tokens: bytes by id; ends: ids that end a text.
    """

    def __init__(self, tokens: Sequence[bytes | None], ends: Sequence[int]) -> None:
        spelled = sorted((token, number) for number, token in enumerate(tokens) if token and number not in ends)
        self.texts = [token for token, _ in spelled]
        self.ids = torch.tensor([number for _, number in spelled], dtype=torch.int64)
        self.ends = torch.tensor(list(ends), dtype=torch.int64)
        self.lengths = np.array([len(token) for token in self.texts])
        self._columns: dict[int, np.ndarray] = {}

    def column(self, depth: int) -> np.ndarray:
        """uint8[n]: byte `depth` of each token, 0 where it has none."""
        if depth not in self._columns:
            self._columns[depth] = np.array(
                [token[depth] if depth < len(token) else 0 for token in self.texts], dtype=np.uint8
            )
        return self._columns[depth]

    def cover(self, session: Any, row: int, length: int, log_weight: float, logits: torch.Tensor) -> Cover:
        """The cover that begins where the model gave these logits, float[W]."""
        logs = logits.detach().double().cpu()
        logs = torch.cat([logs[self.ids], logs[self.ends].logsumexp(0, keepdim=True)])
        return Cover(session, row, length, log_weight, logs.softmax(0).numpy(), 0, len(logs), 0)

    def next_bytes(self, covers: Sequence[Cover]) -> torch.Tensor:
        """float64[257]: log of the mass of each byte that may follow, and of the end, up to a constant of the text."""
        top = max((cover.log_weight for cover in covers), default=0.0)
        masses = np.zeros(END + 1)
        for cover in covers:
            stop = min(cover.high, len(self.texts))
            own = np.bincount(
                self.column(cover.depth)[cover.low : stop], cover.shares[cover.low : stop], minlength=END + 1
            )
            own[END] = cover.shares[cover.high - 1] if cover.high > stop else 0.0
            masses += math.exp(cover.log_weight - top) * own
        if not masses.any():  # the text has no mass: whatever follows it has none
            masses[:] = 1
        with np.errstate(divide="ignore"):
            return torch.from_numpy(np.log(masses))

    def narrowed(self, cover: Cover, byte: int) -> tuple[Cover | None, list[tuple[int, float]]]:
        """A cover after one more byte; the whole tokens that it may have ended: (id, log p with it).

        The first is None where no token goes on beyond the byte.
        """
        stop = min(cover.high, len(self.texts))
        column = self.column(cover.depth)[cover.low : stop]
        low = cover.low + int(np.searchsorted(column, byte, "left"))
        high = cover.low + int(np.searchsorted(column, byte, "right"))
        depth, longer = cover.depth + 1, low
        while longer < high and self.lengths[longer] == depth:
            longer += 1
        with np.errstate(divide="ignore"):
            logs = cover.log_weight + np.log(cover.shares[low:longer])
        ended = [(int(self.ids[low + i]), float(log)) for i, log in enumerate(logs) if log > -math.inf]
        if longer == high:
            return None, ended
        kept = Cover(cover.session, cover.row, cover.length, cover.log_weight, cover.shares, longer, high, depth)
        return (kept if kept.log_mass > -math.inf else None), ended


@dataclass(frozen=True)
class _Begun:
    """A cover that begins behind a token which the model has not read yet."""

    before: Cover
    token: int
    log_mass: float


class ByteSession:
    """A session of a `ByteModel`: the covers of each row. Covers are values, so rows share them."""

    def __init__(self, owner: ByteModel, rows: list[list[Cover]]) -> None:
        self.owner, self.rows = owner, rows

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        return [_last(logits, kept) for logits, kept in zip(self.read(chunks), keep, strict=True)]

    def read(self, chunks: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """float64[len(chunk), 257] for each row: log masses after each of its bytes."""
        found: list[list[torch.Tensor]] = [[] for _ in chunks]
        for place in range(max(map(len, chunks), default=0)):
            going = [row for row, chunk in enumerate(chunks) if place < len(chunk)]
            after = self._advanced([(self.rows[row], chunks[row][place]) for row in going])
            for row, covers in zip(going, after, strict=True):
                self.rows[row] = covers
                found[row].append(self.owner.table.next_bytes(covers))
        return [torch.stack(each) if each else torch.zeros((0, END + 1), dtype=torch.float64) for each in found]

    def _advanced(self, rows: Sequence[tuple[list[Cover], int]]) -> list[list[Cover]]:
        """The covers of rows after one more byte each."""
        chosen = [self._chosen(covers, byte) for covers, byte in rows]
        begun = [each for row in chosen for each in row if isinstance(each, _Begun)]
        read = dict(zip(map(id, begun), self._read(begun), strict=True))
        after = []
        for row in chosen:
            covers = [read[id(each)] if isinstance(each, _Begun) else each for each in row]
            after.append(covers)
        return after

    def _chosen(self, covers: list[Cover], byte: int) -> list[Cover | _Begun]:
        """The heaviest covers of a text and one more byte."""
        found: list[Cover | _Begun] = []
        for cover in covers if byte < END else []:
            kept, ended = self.owner.table.narrowed(cover, byte)
            found += [] if kept is None else [kept]
            found += [_Begun(cover, token, log_mass) for token, log_mass in ended]
        found.sort(key=lambda each: -each.log_mass)
        whole = next((each for each in found if isinstance(each, _Begun)), None)
        heaviest = found[: self.owner.covers]
        if whole is not None and not any(isinstance(each, _Begun) for each in heaviest):
            heaviest.append(whole)  # from the end of a token every text can go on
        return heaviest

    def _read(self, begun: Sequence[_Begun]) -> list[Cover]:
        """Tell the model the tokens behind which covers begin."""
        by_session: dict[int, list[int]] = {}
        for number, each in enumerate(begun):
            by_session.setdefault(id(each.before.session), []).append(number)
        found: dict[int, Cover] = {}
        for numbers in by_session.values():
            several = [begun[number] for number in numbers]
            self._check_room(several)
            session = several[0].before.session.fork([each.before.row for each in several])
            logits = session.feed([[each.token] for each in several], [1] * len(several))
            for row, (number, each, given) in enumerate(zip(numbers, several, logits, strict=True)):
                found[number] = self.owner.table.cover(session, row, each.before.length + 1, each.log_mass, given[-1])
        return [found[number] for number in range(len(begun))]

    def _check_room(self, begun: Sequence[_Begun]) -> None:
        context = self.owner.part.context
        if context is not None and max(each.before.length for each in begun) >= context:
            raise ConstrainError(
                f"the text takes more than the {context} positions of the model", fix="lower max_tokens"
            )

    def select(self, rows: Sequence[int]) -> None:
        self.rows = [self.rows[row] for row in rows]

    def fork(self, rows: Sequence[int]) -> ByteSession:
        return ByteSession(self.owner, [self.rows[row] for row in rows])
