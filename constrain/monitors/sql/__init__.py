"""The monitor of SQL: tables, columns of the tables in FROM, functions and their numbers of arguments.

takes: a catalogue (`catalogue.py`)
gives: a `Monitor`
start reading at: monitor.py, scopes.py
"""
