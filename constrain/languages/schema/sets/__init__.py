"""Sets of JSON values: their normal form, and its algebra.

takes: what keywords say (`formula.py`), box by box
gives: `NormalForm`s under intersection, union, complement and difference; shapes, which are boxes ready to be written
start reading at: algebra.py
"""
