"""Parts that are read apart: languages with a lexer of their own, monitors, and guards beside them.

    constrain.seq(prose, "```sql\\n", query, "\\n```")          # `query`: a grammar with lexer="greedy", or monitored

The idea: no rules say which texts such a part has, so it is read by an automaton and a guard of its own. The grammar
around it has two marks where the part stands. A text may be read in several ways: a part may end here, or go on. Each
way is a *reading* (readings.py): the place in the grammar around, and the state of the part's own reader. A text is
allowed if one reading is, which is the definition of the language.

takes: a constraint some of whose parts are read apart (`Constraint.read_apart`)
gives: `guard_of` -> a `Guard`, exact for the whole text
start reading at: guard.py, then readings.py, reader.py for the inside of a part, escapes.py for texts in JSON strings
"""

from constrain.masks.engine.parts.guard import PartsGuard, guard_of

__all__ = ["PartsGuard", "guard_of"]
