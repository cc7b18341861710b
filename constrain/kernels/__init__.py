"""All numba code: arrays in, arrays out. Imports numpy and numba only.

takes: three int32 arrays — A the arena (every record), H its hash table, S scratch — and integers
gives: integers, and rows of token masks
used by: automata (expressions), engine (parser states, configurations, masks)
start reading at: arena.py, then expressions.py, spelling.py, earley.py, chains.py, configurations.py, walks.py,
differences.py, counters.py, insides.py, crossing.py, masks.py; for greedy lexers blocks.py, lineups.py, following.py,
greedy.py (each calls only those before it). compiler/ says how kernels are compiled.
"""

from __future__ import annotations

from constrain.kernels.compiler.declare import MODE, atomic_add, is_ready, kernel, load, recursion

__all__ = ["MODE", "atomic_add", "is_ready", "kernel", "load", "recursion"]
