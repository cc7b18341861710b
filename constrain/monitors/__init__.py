"""Monitors: which names a text may use. A grammar knows where a name may stand, a monitor knows which one.

    catalogue = constrain.monitors.sql("CREATE TABLE users (id, name)")
    constraint = constrain.monitors.monitored(constrain.collection.load("sql"), catalogue)

takes: a constraint on code, and what is declared: a catalogue, a Python environment, objects
gives: a `Constraint` with a guard that refuses names which are not defined
used by: whoever generates code
start reading at: monitor.py, reading.py, guard.py
"""

from __future__ import annotations

from constrain.monitors.c.monitor import CMonitor, c
from constrain.monitors.jinja.monitor import JinjaMonitor, jinja
from constrain.monitors.monitor import Lexicon, Monitor, Names
from constrain.monitors.monitored import Monitored, accepted_beginning, monitored, names_at
from constrain.monitors.python.monitor import PythonMonitor, objects, python
from constrain.monitors.sql.monitor import SqlMonitor, sql

__all__ = [
    "CMonitor",
    "JinjaMonitor",
    "Lexicon",
    "Monitor",
    "Monitored",
    "Names",
    "PythonMonitor",
    "SqlMonitor",
    "accepted_beginning",
    "c",
    "jinja",
    "monitored",
    "names_at",
    "objects",
    "python",
    "sql",
]
