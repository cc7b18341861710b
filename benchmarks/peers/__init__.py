"""Readers of peers' own tests: each yields what the tests ask, and the answer. `agreement.py` asks the same here."""
