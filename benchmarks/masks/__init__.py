"""Shared parts of the benchmarks of masks: engines, vocabularies, workers, one measurement, records, summaries.

    interface.py      what an engine must offer, and its settings
    engines.py        the engines by name; adapters of constrain and llguidance
    peers.py          adapters of xgrammar, outlines-core and lm-format-enforcer
    vocabularies.py   real vocabularies, and the encoders that belong to them
    limits.py         time and memory limits, peak RSS
    workers.py        one process an engine, started again when it dies; runner.py: all of them over the same items
    options.py        options that several benchmarks share
    measure.py        one engine on one MaskBench file
    suite.py          the official suite; verdicts.py: does an engine obey it?
    records.py        records on disk, so that a run can go on where it stopped
    summary.py        from records to tables

start reading at: interface.py, measure.py
"""
