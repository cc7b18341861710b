"""Monitors decide which names a generated text may use. A grammar knows where a name may stand, a monitor which one.

A monitor reads a text lexeme by lexeme and keeps a state: the tables, variables, types and attributes that exist at a
position. From it come the valid names. States are values, equal where they mean the same, so that forks, rollbacks and
beams share them. A language is a package: a table of its lexemes with a row for each kind (lexicon.py), a state with
stacks (stacks.py), and a method for each kind of position that a lexeme may stand at (`_at_operand`). reading.py goes
from bytes to lexemes, guard.py from names to masks of tokens.

This wing hangs on the core by the protocol `Guard` alone: the core imports nothing of it, and `import constrain` does
not load it.

    catalogue = constrain.monitors.sql("CREATE TABLE users (id, name)")
    constraint = constrain.monitors.monitored(constrain.collection.load("sql"), catalogue)

takes: a constraint on code, and what is declared: a catalogue, a Python environment, objects
gives: a `Constraint` with a guard that refuses names which are not defined
start reading at: monitor.py, lexicon.py, reading.py, guard.py
"""

from constrain.monitors.c.monitor import CMonitor, c
from constrain.monitors.jinja.monitor import JinjaMonitor, jinja
from constrain.monitors.monitor import Lexicon, Monitor, Names
from constrain.monitors.monitored import Monitored, accepted_beginning, monitored, names_at
from constrain.monitors.python.monitor import PythonMonitor, objects, python
from constrain.monitors.sql.monitor import SqlMonitor, sql
from constrain.monitors.typescript.monitor import TypeScriptMonitor, typescript

__all__ = [
    "CMonitor",
    "JinjaMonitor",
    "Lexicon",
    "Monitor",
    "Monitored",
    "Names",
    "PythonMonitor",
    "SqlMonitor",
    "TypeScriptMonitor",
    "accepted_beginning",
    "c",
    "jinja",
    "monitored",
    "names_at",
    "objects",
    "python",
    "sql",
    "typescript",
]
