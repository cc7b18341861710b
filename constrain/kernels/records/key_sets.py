"""Records of objects whose members come in any order. Owner: parser/key_sets.py."""

from __future__ import annotations

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.schema import Record, Region, key, memo, word


class UNORDERED(Region):
    """What the situations of one object have in common."""

    LOW = word("the least number of members, as far as it matters; else 0")
    HIGH = word("the largest number of members; -1: no limit")
    NUMBER = word("NONTERMINAL.NUMBER of its nonterminals")
    SEPARATOR = word("where the SYMBOLS begin that stand between two members")
    CLOSE = word("SYMBOLS of its end")
    BETWEEN = word("SYMBOLS between a key and its value")
    BEHIND = word("SYMBOLS behind a value")
    CLASSES = word("where the classes of open keys begin, OPEN_CLASS words each")
    N_CLASSES = word("how many there are")
    TRIE = word("the declared keys that have values")
    REQUIRED = word("the required ones")
    LEFT = word("how many are required")
    IS_COVERED = word("1 if the terminal of some class excludes the declared keys, and so looks for them too")


class OPEN_CLASS(Region):
    """Keys that are not declared."""

    KEY = word("their TERMINAL")
    VALUE = word("the symbol of their values")


class KEYS(Record, kind=34):
    """A situation in an object: the declared keys that may still come, as a trie of literals with tags at their ends.

    Equal sets have equal tries, whatever was read before, so that a set needs no other name.
    """

    OBJECT = key("the UNORDERED region")
    TRIE = key("the keys that may still come; NONE: there are none")
    REQUIRED = key("those of them that must come")
    LEFT = key("how many must come")
    SIZE = key("number of members so far, as far as it matters")
    IS_OPEN = key("1 if an open key was written, so that the guard has to watch")
    NEXT = memo("the NONTERMINAL of what follows a member")
    MEMBER = memo("the NONTERMINAL of the next member")
    HAS_OTHERS = memo("1 if an open key may come, else 0; set when it is made")
    LOOKED_FOR = memo(
        "the expression that finds the keys; 0: that of the open keys finds them too; set when it is made"
    )


class DECLARED_KEY(Record, kind=35):
    """A declared key of an object."""

    OBJECT = key("the UNORDERED region")
    KEY = key("the expression of the key")
    VALUE = memo("the symbol of its value")
    IS_REQUIRED = memo("1 if it must come")


class TAKEN(Record, kind=36):
    """A situation after one of its keys."""

    KEYS = key("the situation before it")
    KEY = key("the expression of the key")
    SUFFIX = memo("the SUFFIX of what comes behind the key; 1: the key may not come")


MAY_NOT_COME = 1  # TAKEN.SUFFIX


@accessor
def object_values(rules):
    """Where the new values of an object begin."""
    return rules + UNORDERED.WORDS


@accessor
def keys_object(A, keys):
    """The object of a situation."""
    return np.int64(A[keys + KEYS.OBJECT])


@accessor
def keys_trie(A, keys):
    """The declared keys that may still come."""
    return np.int64(A[keys + KEYS.TRIE])


@accessor
def looked_for(A, keys):
    """The expression that finds the keys of a situation, or 0."""
    return np.int64(A[keys + KEYS.LOOKED_FOR])
