"""Masks under the dynamic lexer: every way to cut a text into lexemes counts."""
