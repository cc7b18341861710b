"""The parts of `benchmarks/grammars.py`: texts of real languages, their parsers, changes of one byte, times.

    corpora/          one module a grammar: texts found on this machine, or written by a seeded generator
    oracles.py        the parsers that verdicts are compared with; tree_sitter.py: those that are tree-sitter's
    mutations.py      a text with one byte changed
    verdicts.py       one grammar on its texts: accepted, viable at every cut, the oracle's verdict after a change
    speed.py          microseconds per token, beside other engines where they can load the grammar
    summary.py        from records to the table

start reading at: verdicts.py
"""
