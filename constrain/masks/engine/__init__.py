"""The engine: a grammar and a vocabulary give masks, by a lazy token automaton.

takes: a `Grammar` (whose nonterminals may be made on demand) and a `Vocabulary`
gives: `compile_bytewise` -> `CompiledConstraint` (shared, thread-safe) -> `Matcher` (one sequence); `fill_masks`,
      `advance_all`, `fill_draft_masks`
start reading at: matcher.py for the questions (in layers: steps.py, guarded.py, masks.py), automaton.py for the answers
"""

from constrain.masks.engine.automaton import TokenAutomaton
from constrain.masks.engine.batch import advance_all, fill_masks
from constrain.masks.engine.compiled import CompiledConstraint, compile_bytewise
from constrain.masks.engine.drafts import fill_draft_masks
from constrain.masks.engine.matcher import Matcher

__all__ = [
    "CompiledConstraint",
    "Matcher",
    "TokenAutomaton",
    "advance_all",
    "compile_bytewise",
    "fill_draft_masks",
    "fill_masks",
]
