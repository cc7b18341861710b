"""The lazy token automaton: grammar + vocabulary -> masks.

takes: a `Grammar` (whose nonterminals may be made on demand) and a `Vocabulary`
gives: `compile` -> `CompiledConstraint` (shared, thread-safe) -> `Matcher` (one sequence); `fill_masks`, `advance_all`
used by: sampling, hf, generate, cli
start reading at: matcher.py for what is asked, automaton.py for how it is answered
"""

from constrain.engine.automaton import TokenAutomaton
from constrain.engine.batch import advance_all, fill_masks
from constrain.engine.compiled import CompiledConstraint, compile
from constrain.engine.matcher import Matcher

__all__ = ["CompiledConstraint", "Matcher", "TokenAutomaton", "advance_all", "compile", "fill_masks"]
