"""Compiles the fused kernels to machine code for a GPU that need not be there: the interpreter lets types pass that a
compiler does not, and names that its tuples have themselves."""

from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from constrain.device import run, targets, walk
from constrain.sampling.fused.batch import Drafts, FusedScores, Penalties, Rule, Trees

TREES, LAWS = Trees("*i32", "*fp64", "i32"), targets.Laws("*fp32", "*fp32", "*i32", "*fp64", "*i32", "i32")  # type: ignore
SEARCH = targets.Search("*i64", "*fp32", "*fp32", "i32")  # type: ignore[arg-type]
DRAFTS, OUT = Drafts("*fp32", "i32", "i32", "*fp64"), walk.Out("*i32", "*i32", "constexpr")  # type: ignore[arg-type]


def scores(logits: str) -> Any:
    return FusedScores(logits, "i32", "i32", "i32", "*i32", "i32")  # type: ignore[arg-type]


def machine_code(
    kernel: Any,
    arguments: dict[str, Any],
    constants: dict[str, Any],
    warps: int = 4,
    nothing: dict[tuple[int, ...], None] | None = None,
) -> dict[str, Any]:
    """For sm_90, by stage of the compiler. nothing: where in tuples of arguments None is given."""
    names = kernel.arg_names
    source = ASTSource(
        kernel,
        signature={name: arguments.get(name, "constexpr") for name in names},
        constexprs={(names.index(name),): value for name, value in constants.items()} | (nothing or {}),
    )
    code = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": warps})
    return dict(code.asm)


def law_kernels(logits: str = "*bf16") -> list[dict[str, Any]]:
    """All stages of targets.py, for logits of a type."""
    sizes = {"P": 16, "CHUNK": run.CHUNK}
    given = {"scores": scores(logits), "trees": TREES}
    sums = {**given, "sums": "*fp32", "best": "*i32", "chunks": "i32"}
    listed = {"scores": scores("*fp32"), "trees": TREES, "penalties": Penalties("*i32", "*fp32"), "count": "i32"}  # type: ignore[arg-type]
    return [
        machine_code(targets.summarise, sums, {**sizes, "PLAIN": False}),
        machine_code(targets.penalise, listed, {"P": 16, "BLOCK": run.ENTRIES}),
        machine_code(targets.law, {**given, "laws": LAWS}, {**sizes, "CHUNKS": 32, "PROCESSED": True}, run.WARPS),
        *(code for counted in (True, False) for code in filter_kernels(given, counted)),
    ]


def filter_kernels(given: dict[str, Any], counted: bool) -> list[dict[str, Any]]:
    """Top-k, or top-p."""
    laws_of, flags = {**given, "laws": LAWS, "search": SEARCH}, {"P": 16, "CHUNKS": 32, "COUNTED": counted}
    joined = {name: laws_of[name] for name in ("trees", "laws", "search")}
    return [
        machine_code(targets.narrow, {**laws_of, "turn": "i32"}, {**flags, "CHUNK": run.CHUNK}),
        machine_code(targets.cut, laws_of, {**flags, "CHUNK": run.CHUNK}),
        machine_code(targets.rejoin, joined, flags),
    ]


def walk_kernel(rule: Rule, logits: str = "*bf16") -> dict[str, Any]:
    """The walk of a rule."""
    arguments = {"given": walk.FusedInputs(scores(logits), TREES, DRAFTS, LAWS, OUT)}
    flags = {"DRAWN": rule.drawn, "WHOLE": rule.whole, "SHARED": rule.shared}
    sizes = {"P": 16, "CHUNK": run.CHUNK, "CHUNKS": 32}
    return machine_code(walk.walk, arguments, {**sizes, **flags}, run.WARPS, {(0, 4, 2): None})  # no spans
