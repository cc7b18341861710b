"""The one seam of randomness: `draw(probabilities, streams)`.

The idea: a sampler never calls a random number generator, it asks for an outcome of a distribution that it states. In
production `TorchDraw` answers at random. In tests `enumerate_draws` answers with every outcome in turn, so that the
distribution of a whole sampler — not a sample of it — is known, and can be compared with the exact one to rounding
error.

A *stream* is the number of an independent sequence of random numbers. Row i of `probabilities` is answered from
`streams[i]`, so what one sequence draws does not depend on which others share its batch, nor on when those end.

Outcomes without replacement: `constrain.sampling.core.urns`.

Cost: one cumulative sum over the distribution a draw. Limit: distributions are explicit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np
import torch

Result = TypeVar("Result")
NO_TOKEN = -1  # where the model gives all allowed tokens no mass, so that there is nothing to draw
BLOCK = 512  # outcomes searched at once
AHEAD = 64  # uniform numbers that a stream draws at once
STREAM_BITS = 32  # streams of rows, and numbers of substreams, are below 2 ** STREAM_BITS


class Draw(Protocol):
    """Chooses an outcome from each row of a batch of distributions: the one source of randomness.

    Example:
        >>> import torch
        >>> from constrain.sampling import Draw, TorchDraw
        >>> draw: Draw = TorchDraw(seed=1)
        >>> draw(torch.tensor([[0.0, 1.0]]), [0])
        tensor([1])
    """

    def __call__(self, probabilities: torch.Tensor, streams: Sequence[int]) -> torch.Tensor:
        """Draw one outcome for each row.

        Args:
            probabilities: float[B, N]; rows are non-negative and sum to 1.
            streams: B stream numbers, distinct.

        Returns:
            int64[B], on the device of `probabilities`.
        """


def substream(stream: int, number: int) -> int:
    """The stream of part `number` (a particle, an attempt) of what draws from `stream`.

    Args:
        stream: the stream of the whole.
        number: of the part, in [0, 2³²).

    Returns:
        A stream that differs from that of every other (stream, number) and from all below 2³². It may have
        substreams itself.

    Raises:
        ValueError: the number is out of range.

    Example:
        >>> from constrain.sampling import substream
        >>> substream(0, 5) == substream(0, 6)
        False
    """
    if not 0 <= number < 1 << STREAM_BITS:
        raise ValueError(f"a substream has a number in [0, 2**{STREAM_BITS}), not {number}")
    return (stream + 1) << STREAM_BITS | number


def mixed(seed: int, number: int) -> int:
    """A seed for part `number` of what is drawn with a seed: neighbouring numbers give unrelated ones."""
    state = np.random.SeedSequence([seed & (2**64 - 1), number]).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


class TorchDraw:
    """Random draws: inversion of the cumulative sum, one `torch.Generator` for each stream.

    Inversion never returns an outcome of probability zero, as `torch.multinomial` on a CPU has been seen to do.

    Args:
        seed: any integer. Equal seeds give equal draws for the same stream, on every device.

    Example:
        >>> import torch
        >>> from constrain.sampling import TorchDraw
        >>> draw = TorchDraw(seed=1)
        >>> draw(torch.tensor([[0.5, 0.0, 0.5]]), [0]).item() in (0, 2)
        True
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[int, _Stream] = {}

    def __call__(self, probabilities: torch.Tensor, streams: Sequence[int]) -> torch.Tensor:
        uniform = torch.tensor([self.uniform(stream) for stream in streams], dtype=torch.float64)
        device = probabilities.device
        if device.type == "mps":  # has no float64
            probabilities = probabilities.cpu()
        return invert(probabilities, uniform.to(probabilities.device).unsqueeze(1)).squeeze(1).to(device)

    def peek(self, stream: int, count: int) -> np.ndarray:
        """float64[count] in [0, 1): what the next draws of a stream will be decided by. `skip` what was used."""
        return np.array(self._stream(stream).peek(count))

    def peeks(self, streams: Sequence[int], counts: Sequence[int]) -> np.ndarray:
        """float64[B, most]: `peek` of several streams, and zeros behind."""
        most, found = max(counts), list[float]()
        for stream, count in zip(streams, counts, strict=True):
            found += self._stream(stream).peek(count)
            found += [0.0] * (most - count)
        return np.array(found).reshape(len(streams), most)

    def skip(self, stream: int, count: int) -> None:
        """Take so many numbers of a stream, which were peeked at, as used."""
        self._stream(stream).skip(count)

    def skips(self, streams: Sequence[int], counts: Sequence[int]) -> None:
        """`skip` of several streams."""
        for stream, count in zip(streams, counts, strict=True):
            self._stream(stream).skip(count)

    def uniform(self, stream: int) -> float:
        """The number in [0, 1) that decides the next draw of a stream."""
        known = self._stream(stream)
        (number,) = known.peek(1)
        known.skip(1)
        return number

    def race(self, log_weights: torch.Tensor, stream: int) -> torch.Tensor:
        """log of the times at which clocks of these rates ring: float64[N]. In their order, outcomes are drawn without
        replacement (the least of exponential variables is i with probability in proportion to rate i, and then the
        others begin anew)."""
        generator = self._stream(stream).one_by_one()
        times = torch.empty(len(log_weights), dtype=torch.float64).exponential_(generator=generator)
        return times.log_().sub_(log_weights)

    def _stream(self, stream: int) -> _Stream:
        known = self._streams.get(stream)
        if known is None:
            known = self._streams[stream] = _Stream(mixed(self.seed, stream))
        return known


class _Stream:
    """The uniform numbers of a stream. A generator gives the same ones whether it is asked for one or for many.

    PERF: by blocks, a number costs 0.7 µs instead of 8. Whatever else draws from the generator stands where it would
    stand without blocks.

    ready: drawn and not used; from `at` on. asked: how many of them were peeked at; used: numbers before `at`.
    """

    def __init__(self, seed: int) -> None:
        self.seed, self.generator = seed, torch.Generator().manual_seed(seed)
        self.ready: list[float] = []
        self.at = self.asked = self.used = 0
        self.ahead = AHEAD

    def peek(self, count: int) -> list[float]:
        left = len(self.ready) - self.at
        if left < count:
            more = torch.rand(max(count - left, self.ahead), generator=self.generator, dtype=torch.float64)
            self.ready, self.at = self.ready[self.at :] + more.tolist(), 0
        if self.asked < count:
            self.asked = count
        return self.ready[self.at : self.at + count]

    def skip(self, count: int) -> None:
        count = count if count < self.asked else self.asked
        self.at += count
        self.asked -= count
        self.used += count

    def one_by_one(self) -> torch.Generator:
        """The generator, behind the numbers that were asked for: from now on there are no others."""
        if self.ahead:
            self.ahead = 0
            self.ready = self.ready[: self.at + self.asked]
            self.generator.manual_seed(self.seed)
            torch.rand(self.used + self.asked, generator=self.generator, dtype=torch.float64)
        return self.generator


class Chance:
    """Draws for one sequence, from its own stream."""

    def __init__(self, draw: Draw, stream: int) -> None:
        self.draw, self.stream = draw, stream

    def __call__(self, probabilities: torch.Tensor) -> int:
        """One outcome of float[N] that sums to 1."""
        return int(self.draw(probabilities.unsqueeze(0), [self.stream]))


def invert(probabilities: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """The outcomes at which the cumulative probabilities pass a share of their total: int64[B, 1].

    probabilities: float[B, N], at least one positive in each row; uniform: float64[B, 1] in [0, 1)
    PERF: long rows are searched by blocks, then in one block, since a cumulative sum in float64 is slow. One row of
    128,256, one core: 0.1 ms instead of 0.8 ms.
    """
    rows, size = probabilities.shape
    if size <= 2 * BLOCK:
        return _invert_short(probabilities, uniform)[0]
    blocks = torch.nn.functional.pad(probabilities, (0, -size % BLOCK)).view(rows, -1, BLOCK)
    block, rest = _invert_short(blocks.sum(-1, dtype=torch.float64), uniform)
    inside = blocks[torch.arange(rows, device=block.device), block.squeeze(1)]
    return block * BLOCK + _invert_short(inside, rest)[0]


def _invert_short(weights: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The outcome, int64[B, 1], and where inside its share the uniform number fell, float64[B, 1] in [0, 1]."""
    cumulative = weights.cumsum(-1, dtype=torch.float64)
    total = cumulative[:, -1:].contiguous()
    target = uniform * total
    # The first outcome whose cumulative sum exceeds the target; should rounding push the target up to the total, the
    # last outcome of positive weight, which is the first to reach the total.
    outcome = torch.minimum(torch.searchsorted(cumulative, target, right=True), torch.searchsorted(cumulative, total))
    share = weights.gather(1, outcome).double()
    rest = (target - (cumulative.gather(1, outcome) - share)) / share
    return outcome, rest.clamp(0, 1)


def enumerate_draws(run: Callable[[Draw], Result]) -> Iterator[tuple[float, Result]]:
    """Walk the decision tree of a sampler: every way its draws can turn out, with its exact probability.

    Args:
        run: called once for each leaf of the tree with a `Draw` to use; must be deterministic but for its draws.

    Yields:
        (probability, what `run` returned); the probabilities sum to 1.

    Example:
        >>> import torch
        >>> from constrain.sampling import enumerate_draws
        >>> coin = torch.tensor([[0.5, 0.5]])
        >>> list(enumerate_draws(lambda draw: int(draw(coin, [0])) + int(draw(coin, [0]))))
        [(0.25, 0), (0.25, 1), (0.25, 1), (0.25, 2)]
    """
    path: list[tuple[list[float], int]] = []  # one entry a decision: the distribution, the outcome taken
    while True:
        walk = _Walk(path)
        result = run(walk)
        path = walk.path
        probability = 1.0
        for distribution, outcome in path:
            probability *= distribution[outcome]
        yield probability, result
        while path:
            distribution, outcome = path.pop()
            following = _next_positive(distribution, outcome + 1)
            if following is not None:
                path.append((distribution, following))
                break
        else:
            return


class _Walk:
    """Replays a path of decisions, then takes the first possible outcome of every decision."""

    def __init__(self, path: list[tuple[list[float], int]]) -> None:
        self.path = list(path)
        self._replayed = 0

    def __call__(self, probabilities: torch.Tensor, streams: Sequence[int]) -> torch.Tensor:
        outcomes = []
        for distribution in probabilities.double().tolist():
            if self._replayed < len(self.path):
                expected, outcome = self.path[self._replayed]
                if expected != distribution:
                    raise RuntimeError("the sampler is not deterministic: a replayed decision has another distribution")
            else:
                first = _next_positive(distribution, 0)
                if first is None:
                    raise RuntimeError("a draw from a distribution without positive probabilities")
                outcome = first
                self.path.append((distribution, outcome))
            self._replayed += 1
            outcomes.append(outcome)
        return torch.tensor(outcomes, dtype=torch.int64, device=probabilities.device)


def _next_positive(distribution: list[float], start: int) -> int | None:
    return next((i for i in range(start, len(distribution)) if distribution[i] > 0), None)
