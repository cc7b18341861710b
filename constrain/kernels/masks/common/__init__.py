"""What the masks of both lexers need: sets of tokens, and slices of the vocabulary."""
