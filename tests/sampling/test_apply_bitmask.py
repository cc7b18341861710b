"""Logits under bitmasks: kernels for each number format beside a plain oracle; the Triton kernel in its interpreter."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
import triton_probe
from hypothesis import given, settings
from hypothesis import strategies as st
from triton_probe import expected, random_words

import constrain
from constrain.errors import ConstrainError
from constrain.sampling import MaskBuffer, apply_bitmask_
from constrain.sampling.bitmask.apply import _apply_on_device
from triton_interpreter import skip_where_numpy_is_too_new

DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
quick = settings(deadline=None, max_examples=80)


def test_the_front_door_has_it() -> None:
    assert constrain.apply_bitmask_ is apply_bitmask_


@quick
@given(
    st.sampled_from(DTYPES),
    st.integers(0, 4),
    st.integers(1, 300),
    st.integers(0, 70),
    st.sampled_from(["rows", "all", "none", "runs", "half"]),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_every_number_format(
    dtype: torch.dtype, rows: int, size: int, extra: int, kind: str, picked: bool, seed: int
) -> None:
    """Values that are kept are kept bit for bit, NaN and infinities too; memory beside the logits is left alone."""
    rng = np.random.default_rng(seed)
    memory = torch.tensor(rng.normal(size=(rows + 2, size + extra + 3)), dtype=torch.float32).to(dtype)
    memory[:, :: 1 + size // 3] = torch.nan
    memory[:, 1 :: 1 + size // 2] = torch.inf
    before = memory.clone()
    logits = memory[1:-1, 1:-2]
    chosen = sorted(rng.permutation(rows)[: rng.integers(0, rows + 1)].tolist()) if picked else None
    words = random_words(rng, rows if chosen is None else len(chosen), size, kind)
    wanted = expected(logits, words, size, chosen)
    assert apply_bitmask_(logits, words, size, rows=chosen) is logits
    assert torch.equal(bits_of(logits), bits_of(wanted))
    memory[1:-1, 1:-2] = before[1:-1, 1:-2]
    assert torch.equal(bits_of(memory), bits_of(before))


def bits_of(tensor: torch.Tensor) -> torch.Tensor:
    """For comparisons in which NaN equals itself."""
    return tensor.contiguous().view({2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()])


@quick
@given(st.integers(1, 4), st.integers(1, 200), st.integers(0, 40), st.booleans(), st.integers(0, 2**32))
def test_the_way_of_other_devices(rows: int, size: int, extra: int, picked: bool, seed: int) -> None:
    """Without Triton, bits are unpacked where the logits are; this runs on a CPU as well."""
    rng = np.random.default_rng(seed)
    logits = torch.tensor(rng.normal(size=(rows, size + extra)))
    chosen = rng.permutation(rows)[: rng.integers(1, rows + 1)].tolist() if picked else None
    words = random_words(rng, rows if chosen is None else len(chosen), size, "half")
    wanted = expected(logits, words, size, chosen)
    places = None if chosen is None else torch.tensor(chosen)
    _apply_on_device(logits, torch.from_numpy(words.view(np.int32)), size, places)
    assert torch.equal(logits, wanted)


@pytest.mark.parametrize("as_rows", [list, np.array, torch.tensor])
def test_rows_of_any_kind(as_rows) -> None:
    logits = torch.zeros((3, 40))
    words = np.array([[1, 0], [2, 0]], np.uint32)
    apply_bitmask_(logits, words, 40, rows=as_rows([2, 0]))
    assert [row.nonzero(as_tuple=True)[0].numel() for row in logits] == [39, 0, 39]
    assert (logits[2, 0], logits[0, 1]) == (0, 0)


def test_gradients_are_masked_too() -> None:
    """Logits of a graph: -inf where refused, and no gradient goes back through there."""
    parameter = torch.ones((1, 40), requires_grad=True)
    logits = parameter * 2
    apply_bitmask_(logits, np.array([[5, 0]], np.uint32))
    logits.softmax(-1)[0, 0].backward()
    assert parameter.grad is not None
    assert parameter.grad[0, [0, 2]].abs().min() > 0
    assert parameter.grad[0, 3:].abs().max() == 0


def test_torch_notices_the_change() -> None:
    """A tensor that a graph has saved may not be masked after: `backward` refuses, as after torch's own methods."""
    logits, parameter = torch.ones((1, 40)), torch.ones((1, 40), requires_grad=True)
    product = (logits * parameter).sum()
    apply_bitmask_(logits, np.array([[5, 0]], np.uint32))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_tensors_of_inference() -> None:
    with torch.inference_mode():
        logits = torch.zeros((1, 33))
    apply_bitmask_(logits, np.array([[1, 0]], np.uint32))
    assert logits.isinf().sum() == 32


@pytest.mark.parametrize(
    "rows, message",
    [
        ([0, 1], "a bitmask for 2 rows of 40 tokens has shape (2, 2), not (1, 2)"),
        ([3], "there is no row 3 among 3 rows of logits"),
        ([-1], "there is no row -1 among 3 rows of logits"),
        (np.array([0.5]), "there is no row 0.5 among 3 rows of logits"),
    ],
)
def test_rows_that_are_not_there(rows, message: str) -> None:
    logits = torch.zeros((3, 40))
    with pytest.raises(ConstrainError) as caught:
        apply_bitmask_(logits, np.zeros((1, 2), np.uint32), rows=rows)
    assert str(caught.value).startswith(message)
    assert (logits == 0).all()


# --- Triton -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(find_spec("triton") is None, reason="the package triton is not installed")
def test_the_triton_kernel_in_its_interpreter() -> None:
    """On a CPU, in a process of its own: Triton reads TRITON_INTERPRET when it is imported."""
    root = Path(constrain.__file__).parents[1]
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, triton_probe.__file__],
        env={**os.environ, "PYTHONPATH": path, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    skip_where_numpy_is_too_new(done.stderr)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["masked", str(triton_probe.CASES)]


# --- the buffer -------------------------------------------------------------------------------------------------------


def test_a_buffer_on_a_cpu_hands_its_rows_on() -> None:
    buffer = MaskBuffer(4, 70, "cpu")
    sent = []
    for step in range(5):
        words = buffer.fresh(1 + step % 4)
        assert (words.shape, words.dtype) == ((1 + step % 4, 3), np.uint32)
        words[:] = step + (1 << 31)
        sent.append(buffer.send())
        assert sent[-1].dtype == torch.int32
        assert (sent[-1].numpy().view(np.uint32) == step + (1 << 31)).all()
        if step:  # what the step before sent is not overwritten yet
            assert (sent[-2].numpy().view(np.uint32) == step - 1 + (1 << 31)).all()
    logits = torch.zeros((1, 70))
    apply_bitmask_(logits, sent[4][:1])
    assert (logits == 0).nonzero()[:, 1].tolist() == [2, 31, 34, 63, 66]


def test_a_buffer_has_so_many_rows() -> None:
    with pytest.raises(ValueError, match="a buffer of 2 rows has not 3"):
        MaskBuffer(2, 9, "cpu").fresh(3)
