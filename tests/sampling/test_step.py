"""The parts of a step: bitmasks on logits, truncation, draws, messages about bad logits."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.errors import ConstrainError
from constrain.sampling import (
    METHODS,
    Settings,
    TorchDraw,
    apply_bitmask_,
    bitmask_words,
    enumerate_draws,
    method_of,
    register,
    score,
    step,
    substream,
    top_k_,
    top_p_,
)
from constrain.sampling.bitmask.apply import _unpack, bits_of, masked_logits
from constrain.sampling.core.draw import invert, mixed

quick = settings(deadline=None, max_examples=60)  # no deadline: the machine may be busy


def packed(allowed: np.ndarray) -> np.ndarray:
    """bool[B, V] → uint32[B, ceil(V / 32)], bit by bit."""
    words = np.zeros((allowed.shape[0], bitmask_words(allowed.shape[1])), dtype=np.uint32)
    for row, column in zip(*allowed.nonzero(), strict=True):
        words[row, column // 32] |= np.uint32(1 << (column % 32))
    return words


@quick
@given(st.lists(st.tuples(st.sampled_from(["draw", "peek", "skip", "race"]), st.integers(0, 90)), max_size=30))
def test_a_stream_gives_the_numbers_of_its_generator_one_by_one(asked: list[tuple[str, int]]) -> None:
    """Numbers are drawn in blocks, and other draws stand where they would stand if they were drawn one by one."""
    draw, generator = TorchDraw(3), torch.Generator().manual_seed(mixed(3, 5))
    waiting: list[float] = []  # peeked at, and not used
    for kind, count in asked:
        if kind == "race":
            times = torch.empty(4, dtype=torch.float64).exponential_(generator=generator)
            assert torch.equal(draw.race(torch.zeros(4, dtype=torch.float64), 5), times.log())
        elif kind == "skip":
            draw.skip(5, count)
            waiting = waiting[count:]
        else:
            count = 1 if kind == "draw" else count
            while len(waiting) < count:
                waiting.append(float(torch.rand(1, generator=generator, dtype=torch.float64)))
            assert draw.peek(5, count).tolist() == waiting[:count]
            if kind == "draw":
                assert draw.uniform(5) == waiting.pop(0)


@quick
@given(st.integers(1, 3), st.integers(1, 130), st.integers(0, 40), st.integers(0, 2**32), st.booleans())
def test_a_bitmask_is_what_its_bits_say(rows: int, size: int, extra: int, seed: int, as_torch: bool) -> None:
    rng = np.random.default_rng(seed)
    allowed = rng.random((rows, size)) < 0.5
    logits = torch.tensor(rng.normal(size=(rows, size + extra)))
    words = packed(allowed)
    masked = apply_bitmask_(logits.clone(), torch.from_numpy(words.view(np.int32)) if as_torch else words, size)
    assert torch.equal(masked[:, :size][torch.tensor(allowed)], logits[:, :size][torch.tensor(allowed)])
    assert (masked[:, :size][torch.tensor(~allowed)] == -math.inf).all()
    assert (masked[:, size:] == -math.inf).all()


@quick
@given(
    st.integers(1, 3),
    st.integers(1, 200),
    st.integers(0, 40),
    st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]),
    st.integers(0, 2**32),
)
def test_picked_columns_are_the_masked_logits(rows: int, size: int, extra: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = packed(rng.random((rows, size)) < share)
    logits = torch.tensor(rng.normal(size=(rows, size + extra)))
    taken, columns = masked_logits(logits, words, size)
    spread = torch.full_like(logits, -math.inf)
    spread[:, slice(None) if columns is None else columns] = taken
    assert torch.equal(spread, apply_bitmask_(logits.clone(), words, size))
    assert columns is None or columns.tolist() == sorted(set(columns.tolist()))


@quick
@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 2**32))
def test_both_ways_to_unpack_agree(rows: int, words: int, seed: int) -> None:
    """The way for other devices runs on a CPU too, only slower."""
    bitmask = np.random.default_rng(seed).integers(0, 2**32, (rows, words), dtype=np.uint32)
    assert torch.equal(torch.from_numpy(bits_of(bitmask)), _unpack(torch.from_numpy(bitmask.view(np.int32))))


@pytest.mark.parametrize(
    "shape, words, dtype, size, message",
    [
        ((1, 40), (1, 1), np.uint32, 40, "a bitmask for 1 rows of 40 tokens has shape (1, 2), not (1, 1)"),
        ((2, 40), (1, 2), np.uint32, 40, "a bitmask for 2 rows of 40 tokens has shape (2, 2), not (1, 2)"),
        ((1, 40), (1, 2), np.int64, 40, "a bitmask must be uint32 or int32 of two dimensions"),
        ((1, 40), (2,), np.uint32, 40, "a bitmask must be uint32 or int32 of two dimensions"),
        ((1, 40), (1, 2), np.uint32, 41, "the model gives 40 logits for a vocabulary of 41 tokens"),
    ],
)
def test_masks_that_do_not_fit(
    shape: tuple[int, ...], words: tuple[int, ...], dtype: type, size: int, message: str
) -> None:
    logits = torch.zeros(shape)
    with pytest.raises(ConstrainError) as caught:
        apply_bitmask_(logits, np.ones(words, dtype=dtype), size)
    assert str(caught.value).startswith(message)
    assert (logits == 0).all()


distributions = st.lists(st.floats(0, 1), min_size=1, max_size=8).filter(lambda x: sum(x) > 1e-3)


def normal(values: list[float]) -> torch.Tensor:
    return torch.tensor([values], dtype=torch.float64) / math.fsum(values)


@quick
@given(distributions, st.integers(1, 9))
def test_top_k_keeps_the_k_likeliest(values: list[float], k: int) -> None:
    before = normal(values)
    after = top_k_(before.clone(), k)[0]
    order = sorted(before[0].tolist(), reverse=True)
    kept = [p if p >= order[min(k, len(order)) - 1] else 0.0 for p in before[0].tolist()]
    assert after.tolist() == pytest.approx([p / math.fsum(kept) for p in kept])


@quick
@given(distributions, st.floats(0.01, 1))
def test_top_p_keeps_the_smallest_set_that_reaches_p(values: list[float], p: float) -> None:
    before = normal(values)
    after = top_p_(before.clone(), p)[0].tolist()
    kept = [x for x, y in zip(before[0].tolist(), after, strict=True) if y > 0]
    left = [x for x, y in zip(before[0].tolist(), after, strict=True) if y == 0]
    assert math.fsum(after) == pytest.approx(1)
    assert math.fsum(kept) >= p - 1e-9
    assert all(x < min(kept) for x in left if x > 0)
    without = [x for x in kept if x > min(kept)]  # ties are kept whole
    assert math.fsum(without) < p + 1e-9


@pytest.mark.parametrize("p", [0.3, 0.5, 0.7, 0.999])
def test_top_p_beyond_the_head(p: float) -> None:
    """One row reaches p among its likeliest few, another only after a full sort; together as each alone."""
    peaked = torch.linspace(0, 30, 5000, dtype=torch.float64).softmax(-1)
    flat = torch.linspace(0, 1, 5000, dtype=torch.float64).softmax(-1)
    together = top_p_(torch.stack([peaked, flat]), p)
    for row, alone in zip(together, (peaked, flat), strict=True):
        ordered = alone.sort(descending=True).values
        kept = int((ordered.cumsum(0) < p).sum()) + 1
        assert int((row > 0).sum()) == kept
        assert torch.allclose(row[row > 0].sort(descending=True).values, ordered[:kept] / ordered[:kept].sum())


def test_draws_repeat_and_streams_differ() -> None:
    even = torch.full((4, 50), 0.02, dtype=torch.float64)
    first, second = TorchDraw(1), TorchDraw(1)
    sequence = [first(even, range(4)).tolist() for _ in range(5)]
    assert sequence == [second(even, range(4)).tolist() for _ in range(5)]
    assert len({tuple(column) for column in zip(*sequence, strict=True)}) == 4
    assert [TorchDraw(1)(even[:1], [2]).tolist()] == [sequence[0][2:3]]
    assert TorchDraw(2)(even, range(4)).tolist() != sequence[0]
    assert TorchDraw(-1)(even, range(4)).tolist() != sequence[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_has_no_probability_is_never_drawn(dtype: torch.dtype) -> None:
    probabilities = torch.zeros((2000, 1000), dtype=dtype)
    probabilities[:, 3] = 1e-7
    probabilities[:, 500] = 1 - 1e-7
    drawn = TorchDraw(0)(probabilities, range(2000))
    assert set(drawn.tolist()) <= {3, 500}


@pytest.mark.parametrize("size", [1, 7, 1024, 1025, 1536, 5000])
def test_inversion_is_the_inverse_of_the_cumulative_sum(size: int) -> None:
    """Every outcome is met inside its share, whichever way the row is searched, and only there."""
    rng = np.random.default_rng(size)
    p = rng.random(size) * (rng.random(size) < 0.5)
    p[size // 2] = 1.0
    p /= p.sum()
    upper = np.cumsum(p)
    for share in (0.001, 0.5, 0.999):
        for outcome in rng.choice(np.flatnonzero(p), 40):
            uniform = torch.tensor([[upper[outcome] - (1 - share) * p[outcome]]])
            assert int(invert(torch.tensor(p[np.newaxis]), uniform)) == outcome
    for edge in (0.0, 1 - 2**-53, 1.0):
        assert p[int(invert(torch.tensor(p[np.newaxis]), torch.tensor([[edge]], dtype=torch.float64)))] > 0


def test_draws_follow_the_distribution() -> None:
    """Chi-square with 4 degrees of freedom; 23.5 is passed by chance once in 10,000 seeds, and the seed is fixed."""
    law = torch.tensor([0.05, 0.1, 0.15, 0.3, 0.4], dtype=torch.float64)
    n = 4000
    drawn = TorchDraw(5)(law.expand(n, 5), range(n))
    counts = torch.bincount(drawn, minlength=5).double()
    assert float(((counts - n * law) ** 2 / (n * law)).sum()) < 23.5


def test_the_walk_visits_every_leaf_once() -> None:
    def two_draws(draw):  # type: ignore[no-untyped-def]
        first = int(draw(torch.tensor([[0.25, 0.0, 0.75]]), [0])[0])
        if first == 0:
            return (first,)
        return first, *draw(torch.tensor([[0.5, 0.5], [1.0, 0.0]]), [0, 1]).tolist()

    assert list(enumerate_draws(two_draws)) == [(0.25, (0,)), (0.375, (2, 0, 0)), (0.375, (2, 1, 0))]


def test_the_walk_notices_other_randomness() -> None:
    seen = iter([0.5, 0.25])

    def unsteady(draw):  # type: ignore[no-untyped-def]
        p = next(seen)
        return draw(torch.tensor([[p, 1 - p]]), [0])

    with pytest.raises(RuntimeError, match="not deterministic"):
        list(enumerate_draws(unsteady))


@quick
@given(st.integers(0, 2**32), st.floats(0.1, 3), st.integers(2, 70))
def test_a_step_against_plain_arithmetic(seed: int, temperature: float, size: int) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=3, size=(2, size + 2))
    allowed = rng.random((2, size)) < 0.5
    allowed[:, 0] = True
    p = np.exp(logits / temperature)
    p /= p.sum(1, keepdims=True)
    given_settings = Settings(temperature=temperature)
    drawn = step(
        torch.tensor(logits), packed(allowed), settings=given_settings, draw=TorchDraw(seed), streams=[0, 1], size=size
    )
    for row in range(2):
        z = p[row, :size][allowed[row]].sum()
        token = int(drawn.token[row])
        assert allowed[row, token]
        assert float(drawn.log_z[row]) == pytest.approx(math.log(z), abs=1e-9)
        assert float(drawn.log_prob_raw[row]) == pytest.approx(math.log(p[row, token]), abs=1e-9)
        assert float(drawn.log_prob_sampled[row]) == pytest.approx(math.log(p[row, token] / z), abs=1e-9)
        assert score(torch.tensor(logits[row : row + 1]), [token], temperature) == [float(drawn.log_prob_raw[row])]


def test_large_batches_are_their_rows() -> None:
    """Rows of 100,000 logits are handled a few at a time."""
    rng = np.random.default_rng(0)
    logits = torch.tensor(rng.normal(size=(7, 100_000)))
    words = packed(rng.random((7, 100_000)) < 0.3)
    places = [(i, 10 * i) for i in range(7)]
    together = step(logits, words, settings=Settings(), draw=TorchDraw(3), streams=range(7), places=places)
    for row in range(7):
        part = slice(row, row + 1)
        alone = step(logits[part], words[part], settings=Settings(), draw=TorchDraw(3), streams=[row])
        for name in ("token", "log_prob_raw", "log_prob_sampled", "log_z"):
            assert torch.equal(getattr(together, name)[part], getattr(alone, name))
    logits[5, 7] = math.nan
    with pytest.raises(ConstrainError, match="at output 5, token 50"):
        step(logits, words, settings=Settings(), draw=TorchDraw(3), streams=range(7), places=places)


def test_a_tiny_valid_mass_is_no_problem() -> None:
    """e^-900 is zero as a float64; in log space it is a number."""
    logits = torch.tensor([[0.0, -900.0, -901.0]], dtype=torch.float64)
    drawn = step(
        logits, np.array([[0b110]], dtype=np.uint32), settings=Settings(), draw=TorchDraw(0), streams=[0], size=3
    )
    assert int(drawn.token[0]) in (1, 2)
    assert float(drawn.log_z[0]) == pytest.approx(-900 + math.log1p(math.exp(-1)), abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(dtype: torch.dtype) -> None:
    drawn = step(torch.zeros((1, 64), dtype=dtype), None, settings=Settings(), draw=TorchDraw(0), streams=[0])
    assert drawn.log_prob_raw.dtype == torch.float32
    assert float(drawn.log_prob_raw[0]) == pytest.approx(-math.log(64), abs=1e-6)


@pytest.mark.parametrize(
    "bad, message",
    [
        ({5: math.nan}, "the model's logits contain NaN (token ids 5)\n  at output 7, token 2"),
        ({0: math.inf}, "the model's logits contain +inf (token ids 0)\n  at output 7, token 2"),
        (dict.fromkeys(range(8), math.nan), "the model's logits contain NaN (token ids 0, 1, 2, 3, 4, …)"),
        (dict.fromkeys(range(8), -math.inf), "the model's logits contain nothing but -inf\n  at output 7, token 2"),
    ],
)
def test_bad_logits_are_located(bad: dict[int, float], message: str) -> None:
    logits = torch.zeros((2, 8))
    for token, value in bad.items():
        logits[1, token] = value
    for attempt in (
        lambda: step(logits, None, settings=Settings(), draw=TorchDraw(0), streams=[0, 1], places=[(6, 3), (7, 2)]),
        lambda: score(logits, [1, 1], 1.0, places=[(6, 3), (7, 2)]),
    ):
        with pytest.raises(ConstrainError) as caught:
            attempt()
        assert str(caught.value).startswith(message)


def test_minus_infinity_is_a_logit_like_another() -> None:
    logits = torch.tensor([[0.0, -math.inf, 0.0]])
    drawn = step(logits, None, settings=Settings(), draw=TorchDraw(0), streams=[0])
    assert int(drawn.token[0]) != 1
    assert float(drawn.log_prob_raw[0]) == pytest.approx(-math.log(2))


def test_methods_are_a_table() -> None:
    with pytest.raises(ConstrainError) as caught:
        method_of("nucleus")
    names = ", ".join(sorted(METHODS))
    assert str(caught.value) == f"there is no method 'nucleus'\n  fix: choose one of: {names}"
    with pytest.raises(ConstrainError, match="there is a method 'lcd' already"):
        register("lcd", METHODS["lcd"])
    register("another", METHODS["lcd"])
    try:
        assert method_of("another") is METHODS["lcd"]
    finally:
        del METHODS["another"]


def test_substreams_are_distinct() -> None:
    """From each other, from the streams of rows, and from their own substreams."""
    streams = [0, 1, 2, 2**32 - 1]
    once = [substream(stream, number) for stream in streams for number in (0, 1, 2**32 - 1)]
    twice = [substream(stream, number) for stream in once for number in (0, 1, 2**32 - 1)]
    assert len({*streams, *once, *twice}) == len(streams) + len(once) + len(twice)
    for number in (-1, 2**32):
        with pytest.raises(ValueError, match="a substream has a number in"):
            substream(0, number)
    draw = TorchDraw(3)
    uniform = torch.full((1, 1000), 1e-3)
    assert len({int(draw(uniform, [stream])) for stream in once}) > 10
