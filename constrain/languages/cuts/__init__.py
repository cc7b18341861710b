"""How a tokenizer cuts texts into tokens: which sequences of tokens are its own.

takes: a tokenizer and its vocabulary
gives: `CanonicalTokens`: the tokens that may follow in a sequence that the tokenizer itself would write
start reading at: canonical.py
"""

from constrain.languages.cuts.canonical import CanonicalTokens

__all__ = ["CanonicalTokens"]
