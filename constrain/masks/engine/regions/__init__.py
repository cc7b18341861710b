"""Regions: stretches of a text that have rules of their own.

    constrain.seq(prose, "```sql\\n", query, "\\n```")     # `query`: a grammar with lexer="greedy", or monitored
    rule[max_tokens=20, temperature=0.5]: ...             # a rule whose tokens are counted, or drawn otherwise

The idea: a grammar has two marks for each region, which no text has. A text may be read in several ways: a region may
end here, or go on. Each way is a *place* (places.py): where the grammar stands, and the state of each region that is
open. A token is allowed if one place goes on with it. What a region is, a row says: a part that is *read apart*, by an
automaton and a guard of its own, or in a string of JSON; a rule that is *followed*, with a budget or a temperature.

takes: a constraint some of whose parts are read apart (`Constraint.read_apart`), or with followed rules
gives: `apart.guard_of`, `counted.guard_of_rules` -> a `Guard`
start reading at: guard.py, then places.py; regions: apart.py, escapes.py, counted.py
"""

from constrain.masks.engine.regions.guard import RegionsGuard

__all__ = ["RegionsGuard"]
