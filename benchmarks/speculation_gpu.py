"""Verification on a GPU: the time of the fused kernels, beside doing the same with torch, XGrammar and FlashInfer.

    make gpu
    python benchmarks/speculation_gpu.py kernels --out benchmarks/record/DATE-speculation-gpu
    python benchmarks/speculation_gpu.py steps --out benchmarks/record/DATE-speculation-gpu
    python benchmarks/speculation_gpu.py model --shape 1b --tokens-per-forward 2.3
    python benchmarks/speculation_gpu.py real --model build/real/smollm2
    python benchmarks/speculation_gpu.py forward --model build/real/smollm2 --batch 1 16 64 --nodes 0 15
    TRITON_INTERPRET=1 python benchmarks/speculation_gpu.py kernels --sizes 300 --nodes 1 4 --batch 1 2 --repeat 1

`kernels`: for vocabularies × nodes a tree × trees a step, milliseconds of a whole verdict, from logits and bitmasks to
tokens on the host:
    fused        `Fused("match")`: packing, kernels (a CUDA graph from the third step on), one copy back
    launched     the same without graphs
    filtered     fused, with temperature 0.8, top-k 50 and top-p 0.9
    traversal    `Fused("traversal")` on chains of draws that are nearly always accepted
    eager        `Match`: masks, softmax and sampling by torch, place by place down each tree
    xgrammar     its kernel masks all rows in place, torch takes softmax and samples all rows, then one copy back;
                 without the walk down the trees and without log-probabilities, so it does less
    flashinfer   masks by `apply_bitmask_`, its sampler with top-k 50 and top-p 0.9 on all rows; likewise
    mask, mask_xgrammar   the masks alone, on rows that are on the device, masks that are not
Trees are a chain of up to 8 nodes that the logits make all but certain, with siblings beside it: the longest walk.
Answers are checked: tokens of every fused row are those of its eager rule, but where the uniform number lies within
1e-5 of the border of both tokens' shares (the eager sums are float32), and the masks of `xgrammar` are those of this
library. What is not installed is null in the records. After --minutes no further size is begun; what is left is
printed.

`steps`: the next token of 1 to 64 rows without drafts, as `step` chooses it for every method: by the kernels, by torch,
and by XGrammar's mask with torch's sampling and FlashInfer's sampler, as above. checked: the same by adaptive weighted
rejection, under a check that refuses every other id.

`model`: a Llama-shaped model with random weights, on the device: tokens/s of plain decoding without a constraint, and
steps/s of decoding under a schema with drafts. Random weights accept nothing, so a step counts for --tokens-per-forward
tokens: what the reference pair had (docs/speculative.md).

`real`: a pretrained model of `make real` writes extractions under a schema: tokens, forwards and seconds of an output,
by method, without drafts and with them ("auto"), for `lcd` also with torch in place of the kernels; beside
`model.generate` without a constraint, for as many tokens. Each arm writes --count texts twice, and the second time
counts. Seconds of a stage (`Stats.seconds`) are those of the host: what it queues is paid for where it waits.

`forward`: milliseconds of a forward pass, with a tree of --nodes and the choice of its path, behind a prompt, by rows
and by how the model is read: as today (shapes of each step), in fixed shapes (launched, captured as a CUDA graph,
compiled inside and captured, of one shape: the last two on a GPU only), the seconds of the first four steps, in which
shapes are captured, and the most memory that was allocated. Logits of all arms are compared.
`model` and `real` read models as they are read by default, in graphs where there is a GPU; --forwards changes that.

Bias: median of --repeat runs after a warm-up; the device is idle otherwise. Without a GPU both commands run on the CPU,
to test the script; times are then of no interest.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import constrain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib
from constrain.device.fixed import FixedForward
from constrain.device.fixed_session import FixedSession
from constrain.models.hf import HFModel
from constrain.models.hf.tree import HFTreeSession, but_for_rounding
from constrain.sampling import SIR, SMC, Job, Sample, Settings, TokenRejection, TorchDraw, lcd, step
from constrain.sampling.core.draw import Chance
from constrain.sampling.core.sampler import drive
from constrain.sampling.core.urns import urns_of
from constrain.sampling.methods.awrs import settle
from constrain.speculative import NONE, ROOT, BuiltTree, Case, Fixed, Match, Speculation, Verifier, verifier_named
from constrain.speculative.fused import Fused, FusedMatch
from constrain.speculative.masks import TreeMasks
from constrain.speculative.rows import TargetRows

SHAPES = {  # hidden, inner, layers, heads, key-value heads
    "tiny": (64, 128, 2, 4, 2),
    "1b": (2048, 8192, 16, 32, 8),
    "8b": (4096, 14336, 32, 32, 8),
}
WIDTH = 128_256  # logits of the models of `model`
CHAIN = 8  # nodes on the path that is taken
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"enum": ["small", "large", "red"]}}},
    "required": ["name", "tags"],
    "additionalProperties": False,
}


PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}, "city": {"type": "string"}},
    "required": ["name", "age", "city"],
}
MANY = {"smc": lambda: SMC(particles=8), "sir": lambda: SIR(samples=8)}
REAL = ["lcd", "sir", "smc", "awrs", "asap"]  # methods of `real`
TEXTS = Path(__file__).parent / "tasks" / "extraction.toml"

PLAIN, FILTERED = Settings(), Settings(temperature=0.8, top_k=50, top_p=0.9)


@dataclass
class Problem:
    """B trees of one step. logits: float[R, V], rows of all trees. bitmask: uint32[R, words]"""

    trees: list[BuiltTree]
    logits: torch.Tensor
    bitmask: np.ndarray
    size: int

    def cases(self, seed: int, settings: Settings = PLAIN) -> tuple[list[Case], TorchDraw]:
        """For a verifier, with its draws."""
        draw = TorchDraw(seed)
        job = Job(_NoModel(), [], None, self.size, (), settings, draw, [])
        cases, start = [], 0
        for stream, tree in enumerate(self.trees):
            rows = len(tree) + 1
            masks = TreeMasks(job, tree, Sample(), self.bitmask[0])
            masks.bitmask, masks.rows, masks.complete = self.bitmask, np.arange(start, start + rows), True
            given = TargetRows(
                masks, self.logits[start : start + rows], settings=settings, draw=draw, stream=stream, size=self.size
            )
            cases.append(Case(tree, given, stream))
            start += rows
        return cases, draw


class _NoModel:
    """Nothing is asked of it: the logits are there."""

    width, ragged, context = 0, True, None

    def start(self, prefixes: Any, keep: Any) -> Any:
        raise NotImplementedError


def problem(size: int, nodes: int, batch: int, device: torch.device) -> Problem:
    """Random logits and masks; half of the vocabulary is allowed, the tokens of the trees always."""
    rng = np.random.default_rng([size, nodes, batch])
    chain = min(CHAIN, nodes)
    rows = batch * (nodes + 1)
    logits = torch.randn((rows, size), generator=torch.Generator(device).manual_seed(size + nodes), device=device) * 3
    bitmask = rng.integers(0, 2**32, (rows, -(-size // 32)), dtype=np.uint32)
    trees = []
    for number in range(batch):
        parents = [*range(ROOT, chain - 1), *((i % (chain + 1)) - 1 for i in range(nodes - chain))]
        tokens = rng.permutation(size)[:nodes]
        for node, (token, parent) in enumerate(zip(tokens.tolist(), parents, strict=True)):
            row = number * (nodes + 1) + parent + 1
            bitmask[row, token // 32] |= np.uint32(1 << token % 32)
            if node < chain:
                logits[row, token] += 60
        trees.append(
            BuiltTree(
                tokens.astype(np.int32), np.array(parents, np.int32), np.zeros(nodes), np.full(nodes, NONE, np.int32),
                sources=np.full(nodes, NONE, np.int32), read=np.ones(nodes, np.bool_), matchers=[None] * (nodes + 1),
                same=np.arange(nodes, dtype=np.int32),
                forced=np.full(nodes + 1, NONE, np.int32),
            )
        )  # fmt: skip
    return Problem(trees, logits, bitmask, size)


def with_draws(given: Problem) -> Problem:
    """The chains of a problem as draws, from what the target itself gives at a higher temperature."""
    rows = len(given.trees[0]) + 1
    trees = []
    for number, tree in enumerate(given.trees):
        chain = min(CHAIN, len(tree))
        logits = given.logits[number * rows : number * rows + chain]
        masked = constrain.sampling.apply_bitmask_(
            logits.clone(), given.bitmask[number * rows : number * rows + chain], given.size
        )
        drawn = np.where(np.arange(len(tree)) < chain, np.arange(len(tree)), NONE).astype(np.int32)
        trees.append(replace(tree, draft_rows=drawn, draft_probs=(masked / 1.5).softmax(-1)))
    return replace(given, trees=trees)


def by_xgrammar(given: Problem) -> Callable[[], torch.Tensor] | None:
    """XGrammar's kernel and torch's sampling for all rows; None where it is not installed."""
    try:
        import xgrammar
    except ImportError:
        return None
    device = given.logits.device
    scratch = torch.empty_like(given.logits)
    host = torch.from_numpy(given.bitmask.view(np.int32))
    host = host.pin_memory() if device.type == "cuda" else host

    def run() -> torch.Tensor:
        scratch.copy_(given.logits)
        xgrammar.apply_token_bitmask_inplace(scratch, host.to(device, non_blocking=True))
        return torch.multinomial(scratch.softmax(-1), 1).cpu()

    run()
    ours = constrain.sampling.apply_bitmask_(given.logits.clone(), given.bitmask, given.size)
    assert torch.equal(scratch, ours), "xgrammar's mask is another one"
    return run


def by_flashinfer(given: Problem) -> Callable[[], torch.Tensor] | None:
    """FlashInfer's sampler with top-k and top-p for all rows; None where it is not installed or there is no GPU."""
    try:
        from flashinfer.sampling import top_k_top_p_sampling_from_probs
    except ImportError:
        return None
    if given.logits.device.type != "cuda":
        return None
    scratch = torch.empty_like(given.logits)

    def run() -> torch.Tensor:
        scratch.copy_(given.logits)
        probs = (constrain.sampling.apply_bitmask_(scratch, given.bitmask, given.size) / 0.8).softmax(-1)
        return top_k_top_p_sampling_from_probs(probs, 50, 0.9).cpu()

    run()
    return run


def masks(given: Problem) -> dict[str, Callable[[], object] | None]:
    """Masks alone: of this library, and of XGrammar where it is installed."""
    device = given.logits.device
    host = torch.from_numpy(given.bitmask.view(np.int32))
    host = host.pin_memory() if device.type == "cuda" else host
    scratch = given.logits.clone()
    runs: dict[str, Callable[[], object] | None] = {
        "mask": lambda: constrain.sampling.apply_bitmask_(scratch, host.to(device, non_blocking=True), given.size),
        "mask_xgrammar": None,
    }
    try:
        import xgrammar
    except ImportError:
        return runs
    runs["mask_xgrammar"] = lambda: xgrammar.apply_token_bitmask_inplace(scratch, host.to(device, non_blocking=True))
    return runs


def verdicts(rule: Verifier, given: Problem, settings: Settings = PLAIN, runs: int = 1) -> Callable[[], list[Any]]:
    """A rule on all trees, so many times; what a run looks at is made beforehand."""
    made = iter([given.cases(0, settings) for _ in range(runs)])
    return lambda: [(each.path, each.token) for each in rule.verify(*next(made))]


def differ(found: list[Any], expected: list[Any], given: Problem, settings: Settings) -> bool:
    """Some verdict differs by more than rounding: another path, or a token beyond the border of the draw."""
    cases, draw = given.cases(0, settings)
    for case, (path, token), (right, other) in zip(cases, found, expected, strict=True):
        if path != right:
            return True
        if token == other:
            continue
        law = case.rows.probabilities(path[-1] + 1 if path else 0)
        assert law is not None
        sums = law.double().cumsum(0)
        number = draw.peek(case.stream, len(path) + 1)[-1] * float(sums[-1])
        low, high = min(token, other), max(token, other)
        if abs(float(sums[low]) - number) > 1e-5 or float(sums[high - 1] - sums[low]) > 1e-5:
            return True
    return False


def milliseconds(run: Callable[[], object], repeat: int, device: torch.device) -> float:
    """Median time of a run that ends with its result on the host; after a second, three runs are enough."""
    times: list[float] = []
    began = time.perf_counter()
    for number in range(repeat + 3):  # compiled at the first, captured at the third
        start = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()
        if number > 2 or not repeat:
            times.append((time.perf_counter() - start) * 1e3)
        if len(times) > 2 and time.perf_counter() - began > 1:
            break
    return statistics.median(times)


def kernels(options: argparse.Namespace, device: torch.device) -> list[dict[str, Any]]:
    """One record for each size."""
    records: list[dict[str, Any]] = []
    began = time.perf_counter()
    for size, nodes, batch in itertools.product(options.sizes, options.nodes, options.batch):
        if batch * (nodes + 1) * size * 4 > options.gigabytes * 2**30:
            print(f"left out: V {size}, {nodes} nodes, {batch} trees: the logits take more than --gigabytes")
            continue
        if time.perf_counter() - began > 60 * options.minutes:
            print(f"left out: V {size}, {nodes} nodes, {batch} trees: --minutes are over")
            continue
        records.append(
            {"vocabulary": size, "nodes": nodes, "batch": batch, **measured(size, nodes, batch, options, device)}
        )
        print("  ".join(f"{name} {value:.3f}" if isinstance(value, float) else f"{name} {value}"
                        for name, value in records[-1].items()), flush=True)  # fmt: skip
        write(options, records)
    return records


def write(options: argparse.Namespace, records: list[dict[str, Any]]) -> None:
    """Write the records so far, if a folder was named."""
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        about = {"device": options.about, "options": {k: str(v) for k, v in vars(options).items()}}
        (options.out / f"{options.what}.jsonl").write_text("\n".join(map(json.dumps, [about, *records])) + "\n")


def measured(
    size: int, nodes: int, batch: int, options: argparse.Namespace, device: torch.device
) -> dict[str, float | None]:
    """Milliseconds by row of the table; None: not installed. Raises AssertionError: an answer is wrong."""
    given = problem(size, nodes, batch, device)
    drawn = with_draws(given)
    own = {"fused": (Fused, "match", given, PLAIN, True), "launched": (Fused, "match", given, PLAIN, False),
           "filtered": (Fused, "match", given, FILTERED, True),
           "traversal": (Fused, "traversal", drawn, PLAIN, True)}  # fmt: skip
    runs: dict[str, Callable[[], object] | None] = {}
    for name, (made, rule, which, settings, graphs) in own.items():
        fused = made(rule, kernels=True, graphs=graphs)
        expected = verdicts(verifier_named(rule), which, settings)()
        for _ in range(1 if device.type == "cpu" else 4):  # launched, captured and replayed
            found = verdicts(fused, which, settings)()
            assert not differ(found, expected, which, settings), (name, size, nodes, batch)
        runs[name] = verdicts(fused, which, settings, options.repeat + 3)
        if rule == "match":
            assert all(len(path) == min(CHAIN, nodes) for path, _ in expected)
    runs["eager"] = verdicts(Match(), given, PLAIN, options.repeat + 3)
    runs |= {"xgrammar": by_xgrammar(given), "flashinfer": by_flashinfer(given), **masks(given)}
    return {name: None if run is None else milliseconds(run, options.repeat, device) for name, run in runs.items()}


def tokens_of(given: Problem, settings: Settings, draw: Any) -> list[int]:
    """The next tokens of all rows."""
    streams = range(len(given.logits))
    made = step(given.logits, given.bitmask, settings=settings, draw=draw, streams=streams, size=given.size)
    found: list[int] = made.token.tolist()
    return found


def checked(given: Problem) -> None:
    """The next tokens of all rows under a check."""
    draw, streams = TorchDraw(0), range(len(given.logits))
    urns = urns_of(given.logits, given.bitmask, given.size, draw, streams)
    choices = [TokenRejection().choose(Chance(draw, stream)) for stream in streams]
    settle(choices, urns, lambda pairs: [token % 2 == 0 for _, token in pairs])


def steps(options: argparse.Namespace, device: torch.device) -> list[dict[str, Any]]:
    """One record for each size and number of rows."""
    records = []
    for size, rows in itertools.product(options.sizes, options.batch):
        given = problem(size, 0, rows, device)
        runs: dict[str, Callable[[], object] | None] = {}
        for name, settings in (("plain", PLAIN), ("filtered", FILTERED)):
            draw = TorchDraw(0)

            def eager(probabilities: torch.Tensor, streams: Any, draw: TorchDraw = draw) -> torch.Tensor:
                return draw(probabilities, streams)  # a draw that is no `TorchDraw` goes the way of torch

            chosen = partial(tokens_of, given, settings)
            agree = sum(map(int.__eq__, chosen(TorchDraw(3)), chosen(lambda p, s: TorchDraw(3)(p, s))))
            assert agree >= rows - 1 - rows // 16, f"{name}: kernels and torch agree on {agree} of {rows} tokens"
            runs |= {name: lambda go=chosen, draw=draw: go(draw), f"{name}, torch": lambda go=chosen, e=eager: go(e)}
        runs |= {"checked": partial(checked, given)}
        runs |= {"xgrammar": by_xgrammar(given), "flashinfer": by_flashinfer(given)}
        times = {name: None if run is None else milliseconds(run, options.repeat, device) for name, run in runs.items()}
        records.append({"vocabulary": size, "rows": rows, **times})
        print(json.dumps(records[-1]), flush=True)
    return records


def forward(options: argparse.Namespace, device: torch.device) -> list[dict[str, Any]]:
    """One record for each number of rows, size of trees, and way to read."""
    handle = loaded(options.model, device) if options.model.is_dir() else llama(options.shape, device)
    records: list[dict[str, Any]] = []
    for rows, nodes in itertools.product(options.batch, options.nodes):
        expected = None
        one = rows == options.batch[0] and nodes == options.nodes[-1]
        arms = (
            ["today", "launched", "captured", *["compiled"] * one] if device.type == "cuda" else ["today", "launched"]
        )
        for arm in arms:
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            handle.fixed = None if arm == "today" else FixedForward(handle, compiled=arm == "compiled")
            if handle.fixed is not None and arm == "launched":
                handle.fixed.capture = None
            session = HFTreeSession(handle, rows) if handle.fixed is None else FixedSession(handle, rows, handle.fixed)
            prompt = [[5 + (i + row) % 1000 for i in range(options.prompt)] for row in range(rows)]
            piece = 1 + nodes if arm == "compiled" else options.prompt  # so that one shape is compiled
            for begin in range(0, options.prompt, piece):
                session.feed([each[begin : begin + piece] for each in prompt], [1] * rows)
            tree, chain = np.arange(nodes, dtype=np.int32) + 7, np.arange(-1, nodes - 1, dtype=np.int32)
            times = []
            for _ in range(4 + options.repeat):
                start = now(device)
                logits = session.forward([[9]] * rows, [1] * rows, [tree] * rows, [chain] * rows)
                session.commit([[0] if nodes else []] * rows)
                times.append(now(device) - start)
            expected = logits if expected is None else expected
            alike = all(map(but_for_rounding, logits, expected))
            memory = torch.cuda.max_memory_allocated() / 2**20 if device.type == "cuda" else None
            ms = statistics.median(times[4:]) * 1e3
            records.append({"rows": rows, "nodes": nodes, "arm": arm, "ms": ms, "first four, s": sum(times[:4]),
                            "MiB": memory, "logits as today": alike})  # fmt: skip
            print(json.dumps(records[-1]), flush=True)
            write(options, records)
    return records


def loaded(folder: Path, device: torch.device) -> HFModel:
    """A pretrained model on the device."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).to(device).eval()
    return HFModel(model, AutoTokenizer.from_pretrained(folder))


def read_by(handle: HFModel, forwards: str) -> None:
    """Let a model be read as --forwards says."""
    if forwards == "today":
        handle.fixed = None
    elif forwards == "compiled":
        handle.fixed = FixedForward(handle, compiled=True)


def real(options: argparse.Namespace, device: torch.device) -> list[dict[str, Any]]:
    """One record for each arm."""
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))["Person"][: options.count]
    handle = loaded(options.model, device)
    read_by(handle, options.forwards)
    ask = "Extract the person from this text as JSON: "
    prompts = [[{"role": "user", "content": f"{ask}{each['text']}"}] for each in texts]
    arms: list[tuple[str, str, Any]] = [("unconstrained", "lcd", False), ("model.generate", "", False)]
    for method in options.methods:
        arms += [(method, method, False), (f"{method}, drafts", method, "auto")]
    arms.append(("lcd, drafts, torch", "lcd", Speculation("auto", verifier=Match())))
    records = []
    for arm, method, draft in arms:
        total: Counter[str] = Counter()
        for number, prompt in enumerate([*prompts, *prompts]):
            if number == len(
                prompts
            ):  # all shapes were met, so that nothing is compiled, loaded or captured from here on
                total.clear()
                began = now(device)
            if not method:
                ids = handle.tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_tensors="pt")
                ids = getattr(ids, "input_ids", ids).to(device)
                handle.model.generate(ids, max_new_tokens=48, min_new_tokens=48, do_sample=True, pad_token_id=0)
                total.update(tokens=48, forwards=48)
                continue
            wanted: dict[str, Any] = {} if arm == "unconstrained" else {"schema": PERSON, "method": method}
            if method in MANY:
                wanted["method"] = MANY[method]()
            g = constrain.generate(
                handle, prompt, max_tokens=48, seed=number % len(prompts), draft=draft, **wanted
            )  # fmt: skip
            total.update(tokens=g.stats.tokens, forwards=g.stats.forwards, **g.stats.seconds)
        total["seconds"] = now(device) - began
        records.append({"arm": arm, **{name: value / len(prompts) for name, value in total.items()}})
        print(json.dumps(records[-1]), flush=True)
        write(options, records)
    return records


def now(device: torch.device) -> float:
    """Seconds, once the device has done all that it was asked for."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def llama(shape: str, device: torch.device) -> HFModel:
    """A model of random weights; of its logits the reference tokenizer names the first 3,072, the rest is padding."""
    from transformers import AutoModelForCausalLM, LlamaConfig

    hidden, inner, layers, heads, kv_heads = SHAPES[shape]
    config = LlamaConfig(
        vocab_size=WIDTH, hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv_heads, max_position_embeddings=8192, tie_word_embeddings=True,
    )  # fmt: skip
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    return HFModel(model, constrain.reference.load().tokenizer)


def model(options: argparse.Namespace, device: torch.device) -> list[dict[str, Any]]:
    """Plain and drafted decoding, in seconds a forward and tokens/s."""
    handle = llama(options.shape, device)
    read_by(handle, options.forwards)
    prompt = [5 + i % 1000 for i in range(options.prompt)]
    constraint = constrain.compile(constrain.json_schema(SCHEMA, whitespace="compact"), handle.vocabulary)
    drafts = lambda: Speculation(["words", "lookup"], verifier=FusedMatch(), controller=Fixed(16, 10, 0.0))  # noqa: E731
    found = []
    for name, matcher, method in (
        ("unconstrained", None, lambda: lcd),
        ("constrained", constraint, lambda: lcd),
        ("constrained, drafts", constraint, drafts),
    ):
        for number in range(2):  # the first warms up
            draw = TorchDraw(number)
            job = Job(
                handle, [prompt], None if matcher is None else [matcher.matcher()], handle.vocabulary.size,
                [] if matcher is None else handle.vocabulary.eos_ids, Settings(max_tokens=options.tokens), draw, [0],
            )  # fmt: skip
            start = time.perf_counter()
            (sample,) = drive(method(), job)
            seconds = time.perf_counter() - start
        step = seconds / sample.forwards
        gain = options.tokens_per_forward if name.endswith("drafts") else len(sample.tokens) / sample.forwards
        found.append({"shape": options.shape, "row": name, "forwards": sample.forwards, "tokens": len(sample.tokens),
                      "ms a forward": step * 1e3, "tokens a forward": gain, "tokens/s": gain / step})  # fmt: skip
        print(json.dumps(found[-1]), flush=True)
    return found


RUNS = {"kernels": kernels, "steps": steps, "model": model, "real": real, "forward": forward}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=sorted(RUNS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[32_000, 128_256, 256_000], help="vocabularies")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 4, 16, 64, 256], help="nodes of a tree")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 16, 64], help="trees")
    parser.add_argument("--gigabytes", type=float, default=16.0, help="of logits at most (default: 16)")
    parser.add_argument("--minutes", type=float, default=12.0, help="after which `kernels` begins no further size")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="1b")
    parser.add_argument("--prompt", type=int, default=512, help="tokens of the prompt")
    parser.add_argument("--tokens", type=int, default=128, help="tokens to decode")
    parser.add_argument("--tokens-per-forward", type=float, default=2.0, help="of drafts, as the reference pair has")
    parser.add_argument("--model", type=Path, default=Path("build/real/smollm2"), help="of `real`: a folder")
    parser.add_argument("--forwards", choices=["default", "today", "compiled"], default="default", help="see above")
    parser.add_argument("--count", type=int, default=12, help="texts of `real`, at most 14")
    parser.add_argument("--methods", nargs="+", default=REAL, choices=REAL)
    parser.add_argument("--out", type=Path, help="folder for the raw records")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    options.about = torch.cuda.get_device_name() if device.type == "cuda" else "CPU: a test of the script, no figures"
    print(f"{options.about}; torch {torch.__version__}")
    write(options, RUNS[options.what](options, device))
    return 0


if __name__ == "__main__":
    sys.exit(main())
