"""Pattern texts -> syntax trees: Python's and ECMA-262's dialects, assertions, look-around."""
