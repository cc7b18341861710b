"""The parts of `benchmarks/grammars.py`: texts of real languages, their parsers, changes of one byte, times.

    corpora/          texts found on this machine, and texts drawn from the rules of a table, one a grammar
    oracles.py        the parsers that verdicts are compared with, tree-sitter's among them
    verdicts.py       one grammar on its texts: accepted, viable at every cut, the oracle's after one byte changed
    speed.py          microseconds per token, beside other engines where they can load the grammar
    summary.py        from records to the table

start reading at: verdicts.py
"""
