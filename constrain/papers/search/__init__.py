"""Searches: methods that look for good valid texts, one a file, each with its paper and its distribution.

Measured: with the reference model, tree search and the best of as many samples cannot be told apart at equal forward
passes (benchmarks/record/2026-11-22-search).

takes: a `Job`, and a reward, a bound or a value of texts (`Potential`, or a function of a text)
gives: `Sample`s, best first; their distribution is stated where outputs are drawn
start reading at: found.py (what searches share), then a_star.py
"""
