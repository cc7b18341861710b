"""Find the best protocol of reading a model by trial.

The idea: names in a signature say little: a wrapper's `forward(**kwargs)` passes positions on, other models ignore what
they do not know. So ways of reading are tried in order, the best first, on a few made-up tokens: rows of several
lengths that grow, fork and are dropped, in a real session. A way is taken if its logits are those of each row read
alone, at once and without a memory.

Cost: seven small forward passes for a plain decoder, once for each model object, and only where it matters: not for a
single prompt without drafts and forks of different lengths. Some dozens for recurrent models.
Limit: in half precision
a way is right within some percent of the largest logit. What shows itself only after thousands of tokens is not seen;
models with a window never grow ragged for that reason.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from constrain.errors import ConstrainError
from constrain.models.hf.cache import keeps_everything
from constrain.models.hf.memory import module_tensors, row_axes, tensors
from constrain.models.hf.reading import REREAD, CacheProtocol
from constrain.models.hf.session import open_session

if TYPE_CHECKING:
    from constrain.models.hf.model import HFModel

LOOSE = 1e-3  # of the largest logit; some families' own steps differ by 2e-4 from their whole forwards
ROOM = 40  # positions that a trial takes at most
NO_MEMORY = {"logits", "loss", "hidden_states", "attentions", "router_logits", "last_hidden_state", "cross_attentions"}

_log = logging.getLogger(__name__)
_found: weakref.WeakKeyDictionary[Any, CacheProtocol] = weakref.WeakKeyDictionary()  # by model


def reading_of(handle: HFModel) -> CacheProtocol:
    """The best way to read a model. Raises ConstrainError: it does not predict the token that follows."""
    if handle.model not in _found:
        with torch.inference_mode():
            _found[handle.model] = _Trials(handle).find()
        _log.debug("%s is read as %s", type(handle.model).__name__, _found[handle.model])
    return _found[handle.model]


@torch.inference_mode()
def holds(handle: HFModel, reading: CacheProtocol) -> bool:
    """True if a model that is read so has the logits of each row alone."""
    return _Trials(handle)._holds(reading)


class _Trials:
    """Ways of reading one model, tried on the same texts."""

    def __init__(self, handle: HFModel) -> None:
        self.handle = handle
        self.long = 17 if (handle.context or ROOM) >= ROOM else 8
        self.alone: dict[tuple[int, ...], torch.Tensor] = {}  # logits of a text that is read at once

    def find(self) -> CacheProtocol:
        self._check_causal()
        base = self.handle.plainly if self.handle.plain else self._fallback()
        if base.argument is None or not base.batched:
            return base
        padded = [
            base._replace(mask=mask, positions=positions, padded=True)
            for mask in ("always", "first")
            for positions in (True, False)
        ]
        if base.chunks and self.handle.may_be_ragged and (self.handle.plain or not base.axes):
            for each in padded[:2]:
                if self._holds(each._replace(ragged=True)):
                    return each._replace(ragged=True)
        for each in padded:
            if self._holds(each):
                return each
        return base if not self.handle.plain or self._holds(base) else self._fallback()

    def _fallback(self) -> CacheProtocol:
        """The protocol if the cache is not a known one of keys and values; encoder-decoders are not tried further."""
        return REREAD if self.handle.encodes else self._even()

    def _even(self) -> CacheProtocol:
        """The first protocol that holds for rows of equal lengths."""
        for memory in self._memories():
            for batched in (True, False):
                for positions in (False, True):
                    for mask in ("never", "always"):
                        for chunks in (True, False):
                            each = memory._replace(batched=batched, positions=positions, mask=mask, chunks=chunks)
                            if self._holds(each):
                                return each
        return REREAD

    def _memories(self) -> Iterator[CacheProtocol]:
        """Protocols, one for each object that a forward pass returns, or changes if given it, with its axes of rows."""
        try:
            names = self._returned(self._forward(2))
        except Exception:  # whatever a model has against remembering
            return
        for argument, given in [*((name, False) for name in names), (self.handle.memory, True)]:
            try:
                two, two_held = self._grown(2, argument, given), module_tensors(self.handle.model)
                three, three_held = self._grown(3, argument, given), module_tensors(self.handle.model)
                held = tuple(name for (name,) in row_axes(two_held, three_held))
                axes = row_axes((two, [two_held[name] for name in held]), (three, [three_held[name] for name in held]))
            except Exception:  # whatever a model has against it: this is not its memory
                continue
            if keeps_everything(two) and not held:
                yield CacheProtocol(argument, given)
            elif axes:
                yield CacheProtocol(argument, given, axes=axes, held=held)

    def _forward(self, rows: int, length: int = 5, **arguments: Any) -> Any:
        ids = [self._text(row, length) for row in range(rows)]
        return self.handle.model(
            input_ids=torch.tensor(ids, device=self.handle.model.device), use_cache=True, **arguments
        )

    def _returned(self, output: Any) -> list[str]:
        fields = output.items() if isinstance(output, Mapping) else vars(output).items()
        return [name for name, value in fields if name not in NO_MEMORY and tensors(value)]

    def _grown(self, rows: int, argument: str, given: bool) -> Any:
        """The model's memory after two forward passes."""
        memory: Any = self.handle.new_cache() if given else None
        for length in (5, 1):
            arguments = {} if memory is None else {argument: memory}
            memory = getattr(self._forward(rows, length, **arguments), argument, memory)
        return memory

    def _check_causal(self) -> None:
        """Raises ConstrainError: a token depends on those after it or their number, or there are no logits."""
        name = type(self.handle.model).__name__
        left, right = self._text(0, 6), self._text(1, 6)
        try:
            source = self.handle.trial_source(0)
            first, second = self.handle.read([[*source, *left], [*source, *left[:3], *right[3:]]])
            (short,) = self.handle.read([[*source, *left[:3]]])
        except Exception as error:
            reason = str(error).strip().split("\n")[0]
            raise ConstrainError(
                f"{name} cannot be read by token ids alone: {reason}",
                fix="load a causal language model with AutoModelForCausalLM",
            ) from error
        if not alike(first[:3], second[:3], loose=0):
            raise ConstrainError(
                f"{name} reads text in both directions: its logits at a token depend on the tokens after it",
                fix="load a model that was trained to write on (a decoder, such as Llama or GPT-2); "
                "if this one was, load it with is_decoder=True",
            )
        if not alike(short[-1:], first[len(short) - 1 : len(short)]):
            raise ConstrainError(
                f"{name} is not read token by token: its logits at a token depend on how many tokens follow",
                fix="load a model whose logits after a text are those of the text alone (Llama, GPT-2, T5, BART, …)",
            )

    def _holds(self, reading: CacheProtocol) -> bool:
        """True if logits are those of each row alone, whatever happens to the batch."""
        texts = 2 if self.handle.model.dtype in (torch.float16, torch.bfloat16) else 1  # rounding may change an expert
        try:
            return any(self._holds_on(reading, seed) for seed in range(texts))
        except Exception:  # whatever a model has against arguments or shapes: it is not read so
            return False

    def _holds_on(self, reading: CacheProtocol, seed: int) -> bool:
        long = self.long
        lengths = [(3, long), (long - 5, 1)] if reading.ragged else [(3, long) if reading.padded else (4, 4), (1, 1)]
        sources = [self.handle.trial_source(row) for row in range(3)]
        texts = [[*source, *self._text(3 * seed + row, ROOM)] for row, source in enumerate(sources)]
        rows: list[list[int]] = [[], []]
        session = open_session(self.handle, lengths[0], reading)

        def grow(by: Sequence[int]) -> bool:
            ends = [max(len(text), len(source)) + n for text, source, n in zip(rows, sources, by, strict=False)]
            chunks = [texts[row][len(text) : end] for row, (text, end) in enumerate(zip(rows, ends, strict=True))]
            rows[:] = [[*text, *chunk] for text, chunk in zip(rows, chunks, strict=True)]
            keep = [min(2, n) for n in by]
            logits = session.feed(chunks, keep)
            return all(
                alike(found, self._alone(text)[-kept:]) for found, text, kept in zip(logits, rows, keep, strict=True)
            )

        if not all(grow(each) for each in lengths):
            return False
        left = session.fork([1])
        session.select([1, 0, 0])
        rows[:] = [rows[1], rows[0], list(rows[0])]
        after = [(2, 4, 1), (1, 1, 1)] if reading.ragged else [(3, 3, 3), (1, 1, 1)]
        grown = all(grow(each) for each in after)
        session, rows[:] = (
            left,
            [rows[0][: len(sources[1]) + sum(each[1] for each in lengths)]],
        )  # a fork is where it was
        return grown and grow((2,))

    def _alone(self, text: list[int]) -> torch.Tensor:
        key = tuple(text)
        if key not in self.alone:
            (self.alone[key],) = self.handle.read([text])
        return self.alone[key]

    def _text(self, row: int, length: int) -> list[int]:
        """Token ids from the middle of the vocabulary, where no padding is expected."""
        width = max(1, self.handle.width)
        return [width // 4 + (row * 37 + place * 101 + 7) % max(1, width // 2) for place in range(length)]


def alike(found: torch.Tensor, expected: torch.Tensor, loose: float = LOOSE) -> bool:
    """Equal but for rounding, of which some is allowed in any precision.

    Infinities and NaN equal themselves: that logits are no numbers is reported where a token is chosen.
    """
    if found.shape != expected.shape:
        return False
    largest = float(expected.nan_to_num(0, 0, 0).abs().max())
    bound = max(loose, torch.finfo(expected.dtype).eps ** 0.75) * largest
    same = (found == expected) | (found.isnan() & expected.isnan())
    return bool((same | ((found - expected).abs() <= bound)).all())
