"""A small subset of Python, with blocks and brackets, for tests of layouts and of greedy masks."""

SUBSET = r"""
start: statement*
statement: simple | "if" expression ":" block ["else" ":" block]
simple: expression (";" expression)* [";"] _NEWLINE
block: simple | _NEWLINE _INDENT statement+ _DEDENT
expression: atom ("(" [expression] ")")*
atom: NAME | "(" [expression] ")"
NAME: /(?!(if|else)$)[a-z]+/
%declare _NEWLINE _INDENT _DEDENT
%ignore /[ \t\f]/
%ignore /#[^\n\r]*/
%ignore /\\\r?\n/
"""
