"""Masks under the greedy lexer."""
