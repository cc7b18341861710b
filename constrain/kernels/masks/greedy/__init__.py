"""Masks under the greedy lexer: the longest lexeme counts."""
