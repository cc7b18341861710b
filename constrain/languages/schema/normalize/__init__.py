"""From formulas to normal forms: which sets are empty, why, and what becomes of each keyword.

takes: a `Document` (`read`)
gives: a `Normalizer`, which `check` and `write` ask; errors for schemas that nothing fulfils; the report
start reading at: normal_forms.py
"""
