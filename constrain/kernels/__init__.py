"""All compiled code: arrays in, arrays out. Imports numpy and, where it compiles, numba only.

takes: three int32 arrays — A the arena (every record), H its hash table, S scratch — and integers
gives: integers, and rows of token masks
used by: automata (expressions), engine (parser states, configurations, masks)
start reading at: records/ (what the arena holds), then in the order of calls lexer/ (expressions, spelling, counters),
parser/ (earley, object_rules, configurations), masks/common (slices), masks/dynamic (walks, differences, tables,
dependent), masks/greedy (blocks, lexer_lists, following, greedy_mask), masks/ (fill, batch, logits). compiler/ says how
kernels are compiled.
"""

from __future__ import annotations

from constrain.kernels.compiler.declare import MODE, atomic_add, is_ready, kernel, load, recursion

__all__ = ["MODE", "atomic_add", "is_ready", "kernel", "load", "recursion"]
