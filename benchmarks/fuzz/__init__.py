"""Targets of the fuzzer: what is drawn, and the oracle that judges it. `fuzzing.py` runs them."""
