"""Vocabularies: the bytes behind every token id, arranged so that masks are cheap.

takes: a tokenizer (Hugging Face, tiktoken, SentencePiece, Tekken), or the token bytes themselves
gives: `Vocabulary` with its trie and its slices
used by: engine
start reading at: vocabulary.py
"""

from constrain.vocab.vocabulary import Vocabulary

__all__ = ["Vocabulary"]
