"""Bitmasks meet logits, on a CPU or a GPU."""
