"""Forwards of fixed shape: logits are those of each path read alone, whatever the trees, the batch and the memories.

Networks and walks are those of test_tree.py. There is no GPU here: a graph is a record of the operators that one run
launched, with the same tensors (`Recorded`), so what Python decides in a forward is decided once, as in a CUDA graph.
That operators wait for nothing is seen by a dispatch mode, and on the device "meta", where a wait is an error.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from test_encoder_decoder import handle_of
from torch.fx.experimental.proxy_tensor import make_fx
from tree_cases import TREES, WIDTH, WINDOWS, alone, check_cache, tiny, walk

import constrain
from constrain.device import fixed, fixed_session
from constrain.device.fixed import FixedForward, Sizes
from constrain.device.fixed_session import FixedSession, fixed_or_none, proved
from constrain.device.graphs import USES, Captured, NothingWaits, Waits
from constrain.errors import ConstrainError
from constrain.models.hf import HFModel, grouped
from constrain.models.hf.loading import model_named
from constrain.models.hf.tree import HFTreeSession, but_for_rounding
from constrain.sampling.fused.batch import NONE
from real_models import real_model
from toy_model import tiny_llama, tiny_tokenizer

FAMILIES = ["llama", "qwen3", "gemma3"]
SMALL = Sizes(rows=(1, 2, 4), slots=(8, 16, 32), new=(1, 4, 8), logits=4)  # a walk grows through all, and beyond
NOBODY = np.empty(0, np.int32)
TREE = np.array([3, 4, 5, 6], np.int32), np.array([-1, -1, 0, 2], np.int32)


class Recorded:
    """Run the operators of one run again, on the same tensors and into the same one: a CUDA graph, but on a CPU."""

    made = 0

    def __init__(self, run: Callable[[], torch.Tensor]) -> None:
        Recorded.made += 1
        run()
        self.graph = make_fx(run, tracing_mode="real")()
        self.out = self.graph().clone()

    def __call__(self) -> torch.Tensor:
        return self.out.copy_(self.graph()) if self.out.ndim == 3 else self.graph()  # of three dimensions are logits


def handle(name: str, **how: Any) -> HFModel:
    """A tiny network that is read by forwards of fixed shape."""
    found = HFModel(tiny(name), None)
    found.fixed = FixedForward(found, **how)
    return found


def opened(found: HFModel, rows: int) -> FixedSession:
    session = found.open(rows)
    assert isinstance(session, FixedSession)
    return session


def forwards_of(found: HFModel) -> FixedForward:
    assert found.fixed is not None
    return found.fixed


# --- logits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*TREES, *WINDOWS])
def test_logits_are_those_of_paths_read_alone(name: str) -> None:
    found = handle(name)
    for seed in range(2):
        session = walk(found, seed, 6, 1e-9)
        assert type(session) is FixedSession and not session.left


def test_heads_of_a_group_read_the_memory_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each layer of each forward, of a tree as of a token."""
    found, counts = handle("llama"), list[tuple[int, ...]]()
    plain = grouped.of_groups
    monkeypatch.setattr(grouped, "of_groups", lambda query, *given: counts.append(query.shape) or plain(query, *given))
    session = opened(found, 1)
    session.feed([[1, 2]], [1])
    session.feed([[1]], [1])
    assert counts == [(1, 4, 4, 8)] * 2 + [(1, 4, 1, 8)] * 2


@pytest.mark.parametrize("name", FAMILIES)
def test_graphs_have_the_logits_of_forwards(name: str) -> None:
    before = Recorded.made
    found = handle(name, capture=Recorded)
    assert proved(forwards_of(found), found) is found.fixed
    assert Recorded.made == before + 3  # two shapes of the trial, and moving its path together
    for seed in range(2):
        assert not walk(found, seed, 12, 1e-9).left
    assert Recorded.made > before + 3


@pytest.mark.skipif(not torch.cuda.is_available(), reason="a CUDA graph needs a GPU")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", FAMILIES)
def test_graphs_on_a_gpu(name: str, compiled: bool) -> None:
    found = HFModel(tiny(name).to("cuda"), None)
    assert found.fixed is not None and found.fixed.capture is not None
    if compiled:
        found.fixed = proved(FixedForward(found, compiled=True), found)
    assert not walk(found, 1, 12, 1e-9).left
    assert any(memory.graphs.held for memory, _ in forwards_of(found).memories.held.values())


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_are_those_of_the_session_of_today(name: str) -> None:
    """In single precision, prompts of many lengths and trees; what is no longer there is not seen."""
    found = HFModel(tiny(name).float(), None)
    mine, other = FixedSession(found, 3, FixedForward(found)), HFTreeSession(found, 3)
    rng = random.Random(4)
    for step in range(4):
        chunks = [[rng.randrange(WIDTH) for _ in range(rng.randint(1, 3 if step else 40))] for _ in range(3)]
        for one, two in zip(*(s.forward(chunks, [1] * 3, [TREE[0]] * 3, [TREE[1]] * 3) for s in (mine, other)),
                            strict=True):  # fmt: skip
            assert but_for_rounding(one, two)
        paths = [rng.choice([[], [0], [0, 2], [0, 2, 3], [1]]) for _ in range(3)]
        mine.commit(paths)
        other.commit(paths)


@pytest.mark.parametrize("name", ["smollm2", "gemma3-270m"])
def test_real_models(name: str) -> None:
    found = HFModel.of(model_named(str(real_model(name))))
    found.model.float()
    mine, other = FixedSession(found, 2, FixedForward(found)), HFTreeSession(found, 2)
    first, second, rest, more, nodes = found.tokenizer(
        [
            "Ada Lovelace was 36 when she died in",
            "The capital of",
            " London. She",
            " France is",
            " wrote the first program",
        ]
    ).input_ids
    tokens, parents = np.array(nodes[:4], np.int32), TREE[1]
    for chunks in ([first, second], [rest, more]):
        for one, two in zip(*(s.forward(chunks, [1] * 2, [tokens] * 2, [parents] * 2) for s in (mine, other)),
                            strict=True):  # fmt: skip
            assert but_for_rounding(one, two)
        for session in (mine, other):
            session.commit([[0, 2], []])


def test_more_logits_than_tokens_are_known() -> None:
    """An embedding that is larger than the vocabulary."""
    tokenizer = tiny_tokenizer()
    found = HFModel(tiny_llama(tokenizer, extra=29), tokenizer)
    assert found.width == len(tokenizer) + 29
    found.fixed = proved(FixedForward(found), found)
    session, (logits,) = found.start([[1, 2, 3]], [2])
    assert type(session) is FixedSession and logits.shape == (2, found.width)
    assert but_for_rounding(logits[-1], alone(found, [1, 2, 3]))


@pytest.mark.parametrize("options", [{}, {"draft": "auto"}, {"method": "smc"}])
def test_outputs_are_those_of_the_session_of_today(options: dict[str, Any]) -> None:
    plain = HFModel.of(constrain.reference.load())
    expected = constrain.generate(plain, "A date: ", regex=r"\d{4}-\d\d-\d\d", seed=4, **options)
    found = HFModel(tiny_copy(plain.model), plain.tokenizer)
    found.fixed = proved(FixedForward(found, capture=Recorded), found)
    made = Recorded.made
    g = constrain.generate(found, "A date: ", regex=r"\d{4}-\d\d-\d\d", seed=4, **options)
    assert g.text == expected.text and g.tokens == expected.tokens and Recorded.made > made


def tiny_copy(model: Any) -> Any:
    """The same network as an object of its own."""
    twin = type(model)(model.config)
    twin.load_state_dict(model.state_dict())
    return twin


# --- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", [None, Recorded])
@pytest.mark.parametrize("name", ["llama", *WINDOWS])
def test_what_no_longer_fits_goes_on_elsewhere(name: str, capture: Any) -> None:
    """Through all sizes of memories, with texts read in pieces, then beyond the last: the cache goes along."""
    found = handle(name, capture=capture, sizes=SMALL)
    for seed in range(2):
        session = walk(found, seed, 12, 1e-9)
        assert session.left


@pytest.mark.parametrize("name", ["llama", "gemma3"])
def test_long_texts_are_read_in_pieces(name: str) -> None:
    found = handle(name, sizes=SMALL)
    text = [(7 * i) % WIDTH for i in range(27)]
    session = opened(found, 2)
    logits = session.forward([text, text[:3]], [20, 2], [TREE[0], NOBODY], [TREE[1], NOBODY])
    assert session.forwards == [4, 1] and not session.left
    for place in range(20):
        torch.testing.assert_close(logits[0][place], alone(found, text[: 8 + place]), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(logits[0][23], alone(found, [*text, 3, 5, 6]), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(logits[1][1], alone(found, text[:3]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["llama", "gemma3"])
def test_more_rows_or_nodes_than_the_largest_size(name: str) -> None:
    found = handle(name, sizes=SMALL)
    session, _ = found.start([[1, 2], [3]], [1, 1])
    session.select([0, 1, 1, 0, 0])
    assert isinstance(session, FixedSession) and session.left
    for row, logits in zip([[1, 2], [3], [3], [1, 2]], session.feed([[9]] * 5, [1] * 5), strict=False):
        torch.testing.assert_close(logits[0], alone(found, [*row, 9]), rtol=1e-9, atol=1e-9)
    _, many = found.start([[1, 2, 4, 6, 8, 9, 11], [3], [4], [5], [6]], [1] * 5)
    torch.testing.assert_close(many[1][0], alone(found, [3]), rtol=1e-9, atol=1e-9)
    tree = opened(found, 1)
    nodes = np.arange(9, dtype=np.int32)
    (logits,) = tree.forward([[1]], [1], [nodes], [np.full(9, -1, np.int32)])
    tree.commit([[8]])
    torch.testing.assert_close(logits[9], alone(found, [1, 8]), rtol=1e-9, atol=1e-9)
    (after,) = tree.forward([[2]], [1], [NOBODY], [NOBODY])
    torch.testing.assert_close(after[0], alone(found, [1, 8, 2]), rtol=1e-9, atol=1e-9)


@torch.inference_mode()
def test_hidden_states_are_told_elsewhere() -> None:
    found = handle("llama")
    session = opened(found, 1)
    session.forward([[1, 2, 3]], [1], [NOBODY], [NOBODY])
    session.commit([[]])
    session.keep_hidden = True
    (logits,) = session.forward([[4]], [1], [NOBODY], [NOBODY])
    assert session.left and session.hidden is not None and session.hidden[0].shape == (1, 32)
    torch.testing.assert_close(found.model.lm_head(session.hidden[0]), logits)
    torch.testing.assert_close(logits[0], alone(found, [1, 2, 3, 4]), rtol=1e-9, atol=1e-9)


# --- memories ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", [None, Recorded])
def test_sessions_take_turns_in_a_memory(capture: Any) -> None:
    """Also between a forward and the choice of its path; a fork is where the other one was."""
    found = handle("qwen3", capture=capture)
    first, second = opened(found, 1), opened(found, 1)
    rows: list[list[int]] = [[], []]
    for step in range(5):
        read = [s.forward([[step, n]], [1], [TREE[0]], [TREE[1]]) for n, s in enumerate((first, second))]
        assert len(forwards_of(found).memories.held) == 1
        for n, (session, (logits,)) in enumerate(zip((first, second), read, strict=True)):
            rows[n] += [step, n]
            torch.testing.assert_close(logits[3], alone(found, [*rows[n], 3, 5]), rtol=1e-9, atol=1e-9)
            session.commit([[0, 2]])
            rows[n] += [3, 5]
    fork = first.fork([0, 0])
    for session, row in ((first, rows[0]), (second, rows[1]), (fork, rows[0])):
        logits = session.forward([[9]] * session.rows, [1] * session.rows, [NOBODY] * session.rows,
                                 [NOBODY] * session.rows)  # fmt: skip
        torch.testing.assert_close(logits[-1][0], alone(found, [*row, 9]), rtol=1e-9, atol=1e-9)
        session.commit([[]] * session.rows)
        check_cache(found, session, [[*row, 9]] * session.rows)


def test_a_session_that_moved_leaves_its_memory_to_others() -> None:
    """The first memory goes to another session, which must not put by what lies in the second."""
    found = handle("llama", sizes=SMALL)
    first, second = opened(found, 1), opened(found, 1)
    first.feed([[1, 2]], [1])
    first.feed([list(range(8))], [1])  # into a larger memory
    second.feed([[5]], [1])  # into the smaller one
    (logits,) = first.feed([[9]], [1])
    torch.testing.assert_close(logits[0], alone(found, [1, 2, *range(8), 9]), rtol=1e-9, atol=1e-9)
    assert first.memory is not second.memory


def test_memories_are_kept_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never fits is none: the model is read elsewhere. One that was dropped serves its session on."""
    size = 2 * 2 * 2 * 512 * 8 * 8
    monkeypatch.setattr(fixed, "CPU_BYTES", size - 1)
    session = opened(handle("llama"), 1)
    session.feed([[1, 2]], [1])
    assert session.left
    monkeypatch.setattr(fixed, "CPU_BYTES", 4 * size)
    found = handle("llama")
    one, four = opened(found, 1), opened(found, 4)
    one.feed([[1, 2]], [1])
    four.feed([[3]] * 4, [1] * 4)
    assert [memory.rows for memory, _ in forwards_of(found).memories.held.values()] == [4]
    (logits,) = one.feed([[4]], [1])
    assert not one.left
    torch.testing.assert_close(logits[0], alone(found, [1, 2, 4]), rtol=1e-9, atol=1e-9)


@torch.inference_mode()
def test_paths_are_moved_as_the_walk_tells_it() -> None:
    """By `walk.Out.moved`, in all layers at once: refused nodes are emptied, other slots stay."""
    memory = fixed.FixedMemory((3, 2, 4, 2, 512, 4), 6, torch.float32, torch.device("cpu"))
    memory.states.normal_(generator=torch.Generator().manual_seed(1))
    before = memory.states.clone()
    moved = [[1, 3, NONE, NONE], [NONE] * 4, [0, 1, 2, NONE], [NONE] * 4]
    counts = [4, 2, 3, 0]
    given = np.array([[10 + row, counts[row], *moved[row]] for row in range(4)], np.int32)
    memory.uploaded(given)
    fixed.compacted(memory, 6)
    for row, start in enumerate(range(10, 14)):
        kept = [node for node in moved[row] if node != NONE]
        expected = before[:, :, row].clone()
        expected[..., start : start + counts[row], :] = 0
        expected[..., start : start + len(kept), :] = before[:, :, row][..., [start + node for node in kept], :]
        assert torch.equal(memory.states[:, :, row, :, :511], expected[:, :, :, :511])


def test_the_longest_row_is_dropped() -> None:
    """The other one stays in the memory, or goes into a smaller one, and is not cut short."""
    for count in (1, 2):
        found = handle("llama", sizes=SMALL)
        session = opened(found, 2)
        session.feed([list(range(20)), [1, 2]], [1, 1])
        session.select([1] * count)
        for row in session.feed([[3]] * count, [1] * count):
            torch.testing.assert_close(row[0], alone(found, [1, 2, 3]), rtol=1e-9, atol=1e-9)
        assert session.memory is not None and session.memory.slots == (8 if count == 1 else 32)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refused", [True, False])
def test_what_is_no_number_stays_in_its_row(refused: bool) -> None:
    """A token whose embedding is NaN spoils its own row, as in any session; no other one, nor one copied over it."""
    found = handle("llama")
    with torch.no_grad():
        found.model.get_input_embeddings().weight[6] = torch.nan
    session = opened(found, 2)
    trees = [np.array([4, 5, 6], np.int32), np.array([4, 5, 7], np.int32)]
    logits = session.forward([[1], [2]], [1] * 2, trees, [TREE[1][:3]] * 2)
    assert logits[0][3].isnan().all() and logits[1].isfinite().all()
    session.commit([[0] if refused else [0, 2], [0]])
    session.select([1, 1])
    text = [2, 4]
    for step in range(4):  # over the slots in which NaN was
        text.append(step)
        for row in session.feed([[step]] * 2, [1] * 2):
            torch.testing.assert_close(row[0], alone(found, text), rtol=1e-9, atol=1e-9)
    session.feed([[6], [6]], [1, 1])
    (after, _) = opened(found, 2).feed([[1], [2]], [1, 1])
    torch.testing.assert_close(after[0], alone(found, [1]), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("capture", [None, Recorded])
def test_a_device_out_of_memory(
    capture: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While a session grows: it goes on elsewhere with what it has read, and so do all later ones; said once."""
    found = handle("llama", capture=capture, sizes=SMALL)
    session, waiting = opened(found, 1), opened(found, 1)
    session.feed([[1, 2]], [1])

    def full(*shape: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("no memory")

    monkeypatch.setattr(fixed, "FixedMemory", full)
    with caplog.at_level(logging.WARNING, logger=fixed_session.__name__):
        (logits,) = session.feed([list(range(3, 12))], [1])
        (other,) = waiting.feed([[1, 2]], [1])
    torch.testing.assert_close(logits[0], alone(found, list(range(1, 12))), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(other[0], alone(found, [1, 2]), rtol=1e-9, atol=1e-9)
    assert session.left and waiting.left and opened(found, 1).left
    assert [record.getMessage()[:24] for record in caplog.records] == ["the device has no memory"]


def test_who_has_no_forwards_of_fixed_shape(caplog: pytest.LogCaptureFixture) -> None:
    """A sentence says why: a text of an encoder, no masks of four dimensions, layers of several shapes."""
    tokenizer = tiny_tokenizer()
    for refused, why in (
        (handle_of("t5", tokenizer), "encoder"),
        (HFModel(tiny("bloom"), None), "does not read trees"),
    ):
        with pytest.raises(ConstrainError, match=f"no forwards of fixed shape: .*{why}"):
            FixedForward(refused)
        with caplog.at_level(logging.INFO, logger=fixed_session.__name__):
            assert fixed_or_none(refused) is None
        assert why in caplog.records[-1].getMessage()


def test_experts_that_the_host_chooses() -> None:
    shape = {"vocab_size": WIDTH, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "num_local_experts": 4}  # fmt: skip
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(**shape)).eval()
    model.set_experts_implementation("eager")  # a loop over the experts that some token goes to
    found = HFModel(model, None)
    with pytest.raises(Waits, match="nonzero waits for the host"):
        proved(FixedForward(found), found)
    assert fixed_or_none(found) is None


def test_logits_that_are_wrong_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = HFModel(tiny("llama"), None)
    monkeypatch.setattr(fixed, "ancestors", lambda above: (torch.ones(*above.shape, above.shape[1], dtype=torch.bool),
                                                           torch.zeros_like(above)))  # fmt: skip
    with pytest.raises(ConstrainError, match="its logits are others"):
        proved(FixedForward(found), found)


def test_a_cpu_is_read_as_before() -> None:
    found = HFModel(tiny("llama"), None)
    assert found.fixed is None and type(found.open(1)) is HFTreeSession
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="a CUDA graph needs a GPU"):
            Captured(lambda: torch.zeros(1))
        with pytest.raises(RuntimeError, match="a CUDA graph needs a GPU"):
            proved(FixedForward(found, capture=Captured), found)


# --- nothing waits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wait", "name"),
    [
        (lambda x: x.sum().item(), "_local_scalar_dense"),
        (lambda x: bool(x.any()), "_local_scalar_dense"),
        (lambda x: x.nonzero(), "nonzero"),
        (lambda x: x[x > 1], "index"),
        (lambda x: x.to("meta"), "_to_copy"),
        (lambda x: torch.zeros(3, device="meta").copy_(x), "copy_"),
        (lambda x: x.masked_select(x > 1), "masked_select"),
        (lambda x: x.unique(), "_unique2"),
    ],
)
def test_waits_are_seen(wait: Any, name: str) -> None:
    x = torch.arange(3.0)
    with pytest.raises(Waits, match=f"operator {name} waits"), NothingWaits():
        wait(x)
    with NothingWaits():
        x[torch.tensor([0, 2])] += x.softmax(0)[:2].gather(0, torch.tensor([0, 1]))


@torch.inference_mode()
@pytest.mark.parametrize("name", FAMILIES)
def test_no_operator_waits(name: str) -> None:
    """Of a forward and of moving its path together; on "meta" a wait is an error, and so is a tensor of the host."""
    found = handle(name)
    forwards_of(found).watched = True
    session = opened(found, 2)
    session.forward([[1, 2], [3]], [1] * 2, [TREE[0]] * 2, [TREE[1]] * 2)
    assert session.memory is not None
    with NothingWaits():
        fixed.compacted(session.memory, 6)
    known = {"branching": True, "reading": found.plainly, "windows": found.windows}
    found = HFModel(tiny(name).to("meta"), None)
    vars(found).update(known)
    found.fixed = FixedForward(found)
    forwards_of(found).watched = True
    session = opened(found, 2)
    logits = session.forward([[1, 2], [3]], [1] * 2, [TREE[0]] * 2, [TREE[1]] * 2)
    assert [tuple(each.shape) for each in logits] == [(5, WIDTH)] * 2 and logits[0].device.type == "meta"
    assert session.memory is not None
    with NothingWaits():
        fixed.compacted(session.memory, 6)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_forward_is_one_graph_to_dynamo(name: str) -> None:
    """No break, so `compiled` fuses all of it; what is compiled has the same logits, from two rows to four."""
    torch._dynamo.reset()
    found = handle(name)
    session = opened(found, 1)
    session.feed([[1, 2]], [1])
    with torch.inference_mode():
        told = torch._dynamo.explain(fixed._read)(found.model, session.memory, 10, 4, found.windows, found.memory)
    assert (told.graph_count, told.graph_break_count) == (1, 0), told.break_reasons
    forwards_of(found).run = torch.compile(fixed._read, backend="eager", fullgraph=True, dynamic=False)
    walk(found, 1, 3, 1e-9)
    torch._dynamo.reset()


def test_a_shape_is_captured_at_its_third_use() -> None:
    found = handle("llama", capture=Recorded)
    session = opened(found, 1)
    before = Recorded.made
    for step in range(USES + 2):
        session.feed([[step]], [1])
        assert Recorded.made - before == (step >= USES)
