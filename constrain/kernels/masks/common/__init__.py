"""Sets of tokens and slices of the vocabulary, for the masks of both lexers."""
