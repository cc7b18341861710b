"""How far a text is from its end: shortest completions, tokens to the end, matchers that end in time.

takes: an automaton and a configuration
gives: texts, counts of tokens, masks that leave enough room
used by: generation, cli
start reading at: shortest.py
"""
