"""The lazy token automaton: grammar + vocabulary -> masks.

takes: a `Grammar` (whose nonterminals may be made on demand) and a `Vocabulary`
gives: `compile` -> `CompiledConstraint` (shared, thread-safe) -> `Matcher` (one sequence), `fill_masks` (a batch)
used by: sampling, hf, generate, cli
start reading at: matcher.py for what is asked, automaton.py for how it is answered
"""

from constrain.engine.automaton import TokenAutomaton
from constrain.engine.compiled import CompiledConstraint, compile
from constrain.engine.matcher import Matcher, fill_masks

__all__ = ["CompiledConstraint", "Matcher", "TokenAutomaton", "compile", "fill_masks"]
