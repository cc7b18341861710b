"""Masks: which tokens may come next, from a language and a vocabulary."""
