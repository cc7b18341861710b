"""All compiled code: arrays in, arrays out. Imports numpy and, where it compiles, numba only.

takes: three int32 arrays — A the arena (every record), H its hash table, S scratch — and integers
gives: integers, and rows of token masks
start reading at: records/ (what the arena holds, and the words for it), then in the order of calls
    lexer/           expressions, multiples, derivatives, states, spelling, key_tries, counters
    parser/          rules, object_rules, key_sets, placed, key_set_rules, items, predictions, closure, earley,
                     configurations, advance
    masks/common     tokens, blocks, slices, whole
    masks/dynamic    walks, differences, tables, dependent
    masks/greedy     blocks, walk, lexer_lists, following, greedy_mask
    masks/           fill, batch, logits
    cuts/            merging, neighbours, steps, firsts
constrain/gaps/kernels and constrain/papers/kernels are those of wings, which are declared when somebody asks for them.
compiler/ says how kernels are compiled, linked with each other and kept in a cache. `python scripts/check_kernels.py`
holds the rules of this folder.
"""

from constrain.kernels.compiler.declare import (
    MODE,
    atomic_add,
    declare_all,
    is_ready,
    kernel,
    load,
    recursion,
    release_fence,
    thread_clock,
)

__all__ = [
    "MODE",
    "atomic_add",
    "declare_all",
    "is_ready",
    "kernel",
    "load",
    "recursion",
    "release_fence",
    "thread_clock",
]
