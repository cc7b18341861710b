"""Questions about values: the check of a finished text, and which arrays the guard watches.

takes: a `Normalizer`, a finished text
gives: a sentence about what is wrong with the text, or None; `Watched` places for `constrain.languages.guards`
start reading at: member.py
"""
