"""Grammars: rules over terminals, and the readers that make them from text.

takes: Lark or GBNF text, or rules built by other rooms (the schema room makes them lazily)
gives: `Grammar` (`rules`), analysed and located errors (`analysis`); `Constraint`, the base of everything users can ask
  for
used by: schema, engine
start reading at: rules.py
"""
