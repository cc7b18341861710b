"""What `maskbench.py` is made of: adapters of engines, vocabularies, one measurement, the summary.

start reading at: measure.py
"""
