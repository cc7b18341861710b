"""The cuts that a tokenizer makes in a text: into pieces before its model sees it, and each piece into tokens.

takes: a tokenizer and its vocabulary
gives: `CanonicalTokens`: the tokens that may follow in a sequence that the tokenizer itself would write
start reading at: canonical.py; pieces.py (borders of pieces while bytes arrive), merges.py (neighbours within a piece)
"""

from constrain.languages.cuts.canonical import CanonicalTokens, canonical_tokens

__all__ = ["CanonicalTokens", "canonical_tokens"]
