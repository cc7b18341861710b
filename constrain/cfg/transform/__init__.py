"""Analyses and rewrites of grammars that keep the language, or change it in a stated way."""
