"""Vocabularies: the bytes of every token id, with the trie and the slices that make masks cheap.

takes: a tokenizer (Hugging Face, tiktoken, SentencePiece, Tekken), or the token bytes themselves
gives: `Vocabulary` with its trie and its slices
start reading at: vocabulary.py
"""

from constrain.languages.vocab.vocabulary import Vocabulary

__all__ = ["Vocabulary"]
