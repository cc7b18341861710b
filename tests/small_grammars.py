"""Lark texts that tests of several rooms read."""

from __future__ import annotations

JSON = r"""
start: value
value: object | array | STRING | NUMBER | "true" | "false" | "null"
object: "{" [pair ("," pair)*] "}"
pair: STRING ":" value
array: "[" [value ("," value)*] "]"
STRING: /"([^"\\\x00-\x1f]|\\["\\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
%ignore /[ \t\n]+/
"""

STATEMENTS = r"""
start: statement*
statement: "let" NAME "=" expression ";" | "if" expression "then" statement | NAME "(" expression ")" ";"
expression: expression "+" expression | expression "==" expression | NAME | NUMBER | "(" expression ")"
NAME: /[a-z]+/
NUMBER: /[0-9]+(\.[0-9]+)?/
%ignore " "
"""  # ambiguous; under lexer="greedy" keywords win over names, and "=" falls back from "=="
