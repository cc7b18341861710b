"""Cuts: how a tokenizer cuts a text, before its model does (pieces) and within a piece (merges)."""
