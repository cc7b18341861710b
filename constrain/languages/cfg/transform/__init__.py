"""Analyses of grammars, and rewrites: each keeps the language or says how it changes it."""
