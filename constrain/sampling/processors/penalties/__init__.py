"""Penalties of what was written before: of tokens, and of rules of the grammar."""
