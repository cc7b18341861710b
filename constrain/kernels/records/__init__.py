"""Declarations of the arena's records, one for each kind, and accessors that name their words."""
