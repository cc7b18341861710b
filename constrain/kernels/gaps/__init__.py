"""A grammar meets an automaton of bytes: lexemes, derivations, live arcs, least costs (note 0022)."""
