"""Searches: methods that look for good members of the language, one a file, each with its paper and its law.

takes: a `Job`, and a reward, a bound or a value of texts (`Potential`, or a function of a text)
gives: `Sample`s: what was found, best first; laws are stated where outputs are drawn
used by: `generate(method=...)`
start reading at: found.py (what searches share), then a_star.py
"""
