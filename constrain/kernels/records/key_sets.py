"""Records of objects whose declared keys are looked for as sets. Owner: parser/key_sets.py."""

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.schema import Record, Region, key, memo, word


class KEY_SET_RULES(Region):
    """The rules that the key sets of one object share."""

    LOW = word("the least number of members, as far as it matters; else 0")
    HIGH = word("the largest number of members; -1: no limit")
    NUMBER = word("NONTERMINAL.NUMBER of its nonterminals")
    SEPARATOR = word("where the SYMBOLS begin that stand between two members")
    CLOSE = word("SYMBOLS of its end")
    BETWEEN = word("SYMBOLS between a key and its value")
    BEHIND = word("SYMBOLS behind a value")
    CLASSES = word("where the classes of open keys begin, OPEN_CLASS words each")
    N_CLASSES = word("how many there are")
    IS_COVERED = word("1 if the terminal of some class excludes the declared keys, and so looks for them too")
    TRIE = word("the declared keys that have values")
    REQUIRED = word("in any order: the required ones")
    LEFT = word("how many are required")
    MEMBERS = word("number of declared keys")
    ORDER = word("where the ORDERED words of the first key begin; 0: they come in any order")


class ORDERED(Region):
    """A declared key that has its place in an order.

    Keys between two required ones are a *run*, with the second of these: from any of them on, those of the same run may
    come next. BY_RUN lists the indices of all keys by run, and within one by text.
    """

    KEY = word("its expression; 0: it has no value")
    LEFT = word("how many are required, from this key on")
    LIVE = word("1 + the index of the last key with a value in its run; 0: none is left")
    FIRST = word("where its run begins in BY_RUN")
    STOP = word("where its run ends")


class OPEN_CLASS(Region):
    """Keys that are not declared."""

    KEY = word("their TERMINAL")
    VALUE = word("the symbol of their values")


class KEY_SET(Record, kind=34):
    """The declared keys that may still come in an object, as a trie of literals with tags at their ends.

    In any order, equal sets have equal tries, whatever was read before, so that a set needs no other name. In the order
    of the declaration the number of keys that were passed says it all.
    """

    OBJECT = key("the KEY_SET_RULES region")
    SET = key("in any order: the keys that may still come; NONE: there are none. In order: 0")
    REQUIRED = key("in any order: those of them that must come. In order: the number of keys that were passed")
    LEFT = key("how many must come")
    SIZE = key("number of members so far, as far as it matters")
    IS_OPEN = key("1 if an open key was written, so that the guard has to watch")
    NEXT = memo("the NONTERMINAL of what follows a member")
    MEMBER = memo("the NONTERMINAL of the next member")
    HAS_OTHERS = memo("1 if an open key may come, else 0; set when it is made")
    TRIE = memo("the keys that may come next; NONE: there are none")
    BEFORE = memo("in order: a key set that led here, or 0")


class DECLARED_KEY(Record, kind=35):
    """A declared key of an object."""

    OBJECT = key("the KEY_SET_RULES region")
    KEY = key("the expression of the key")
    VALUE = memo("the symbol of its value")
    IS_REQUIRED = memo("1 if it must come")
    INDEX = memo("in order: its index")


class TAKEN(Record, kind=36):
    """A key set and one of its keys."""

    BEFORE = key("the key set before it")
    KEY = key("the expression of the key")
    SUFFIX = memo("the SUFFIX of what comes behind the key; 1: the key may not come")


MAY_NOT_COME = 1  # TAKEN.SUFFIX


@accessor
def object_values(rules):
    """The index of the first of the new values of an object."""
    return rules + KEY_SET_RULES.WORDS


@accessor
def is_in_order(A, keys):
    """Not 0 if the members of the object come in the order of the declaration."""
    return A[A[keys + KEY_SET.OBJECT] + KEY_SET_RULES.ORDER]


@accessor
def ordered(A, rules, index):
    """The ORDERED words of a declared key."""
    return A[rules + KEY_SET_RULES.ORDER] + ORDERED.WORDS * np.int64(index)


@accessor
def open_keys_find_all(A, keys):
    """Not 0 if what looks for the open keys of a key set finds the declared ones too."""
    return A[keys + KEY_SET.HAS_OTHERS] & A[A[keys + KEY_SET.OBJECT] + KEY_SET_RULES.IS_COVERED]
