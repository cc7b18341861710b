"""Completions: the shortest text that completes a member, the tokens that it takes, matchers with a length budget.

takes: an automaton and a configuration
gives: texts, counts of tokens, masks of the tokens after which the text can still be completed in time
start reading at: shortest.py
"""
