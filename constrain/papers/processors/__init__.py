"""Processors of the literature by which our models gained nothing: docs/howto/processors.md has what was measured.

takes: what `constrain.processors` takes. gives: rules for `generate(processors=[...])`
start reading at: typical.py
"""
