"""Masks under the dynamic lexer."""
