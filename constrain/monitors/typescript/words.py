"""The words of TypeScript that the collection's grammar has, by where they stand."""

from __future__ import annotations

OPERANDS = ("true", "false", "null", "undefined", "this", "new", "typeof")
MODIFIERS = frozenset({"private", "public", "protected", "readonly", "static"})
RESERVED = frozenset(
    """
    break case catch class const continue debugger default delete do else enum export extends false finally for function
    if import in instanceof new null return super switch this throw true try typeof var void while with
    implements interface let package private protected public static yield await async of type declare readonly
    undefined arguments eval
    """.split()
)  # names that no program of the grammar declares
