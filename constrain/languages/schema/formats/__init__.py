"""String formats: the regular language of each name, or the check of the finished text.

takes: the name of a `format`
gives: a language of decoded texts; for three formats a larger language and an exact check
start reading at: registry.py
"""
