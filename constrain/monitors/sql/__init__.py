"""The monitor of SQL: tables, columns of the tables in FROM, functions and their numbers of arguments.

takes: a catalogue (`catalogue.py`)
gives: a `Monitor`
used by: `constrain.monitors.sql`
start reading at: monitor.py, scopes.py
"""
