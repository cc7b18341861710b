"""Regex parsers: pattern text in Python's or ECMA-262's dialect to syntax trees; elimination of lookaround."""
