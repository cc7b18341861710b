"""Messages: what Python packs into int32 words for one call of a kernel. Owner: parser/object_rules.py.

A message has fixed words, and behind them lists of other lengths. The symbols of a list stand behind their number.
engine/templates.py and engine/bulk_rules.py pack messages of rules, automata/store.py those of texts.
"""

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.schema import Region, word, words


class OBJECT_MESSAGE(Region):
    """An object whose rules are made at once: n members in their order, and perhaps other keys.

    Nonterminals of an object: member(i) is the i-th member or what may come in its place, next(i) what follows the
    i-th member.
    """

    BEYOND = word("the TEMPLATE of member(n), which another message made; 0: there is none")
    MEMBERS = word("n")
    OTHERS = word("1 if there are keys that are not listed")
    TEXTS = word("number of texts, at least n; the others belong to keys that must not come")
    NEW_VALUES = word("how many values are new templates")
    NUMBER = word("NONTERMINAL.NUMBER of members and what follows them")
    VALUE_NUMBER = word("NONTERMINAL.NUMBER of new values")
    ANY_KEY = word("the expression of any key")
    LISTS = words(
        0,
        "n times whether the member is required; the values, those of other keys last: a record, ANY_VALUE, or "
        "NEW_VALUE - k, the new value k; and the TEXTS",
    )


class KEY_SET_MESSAGE(Region):
    """An object whose n declared keys are looked for as sets, and perhaps open ones."""

    LOW = word("the least number of members if it matters, else 0")
    HIGH = word("the largest number of members; -1: no limit")
    IN_ORDER = word("1 if members come in their order, the open ones last")
    MEMBERS = word("n")
    CLASSES = word("number of classes of open keys")
    TEXTS = word("number of texts, at least n; the others belong to keys that must not come")
    TEXT_PLACE = word("the TEXT_PLACE of the values")
    NEW_VALUES = word("how many values are new templates")
    NUMBER = word("NONTERMINAL.NUMBER of its nonterminals but the values")
    VALUE_NUMBER = word("NONTERMINAL.NUMBER of new values")
    ANY_KEY = word("the expression of any key")
    LISTS = words(
        0,
        "symbols, four lists: separator; close; between a key and its value; behind a value. Then the indices of the "
        "members by text; in order, their indices by run (ORDERED) and text; n times whether the member is required; "
        "the terminals of the classes, -1 being any key but the TEXTS; the values of members and of classes: a record, "
        "or NEW_VALUE - k, the new value k; and the TEXTS, of which those that are no members are sorted",
    )


class WRITTEN_KEYS_MESSAGE(Region):
    """A key set of such an object, by the keys that were written."""

    SIZE = word("number of members so far; in order, the number of keys that were passed")
    IS_OPEN = word("1 if an open key was written")
    WRITTEN = words(0, "in any order: the expressions of the declared keys so far")


class ARRAY_MESSAGE(Region):
    """An array of equal items whose rules are made at once."""

    NUMBER = word("NONTERMINAL.NUMBER of what follows an item")
    VALUE_NUMBER = word("NONTERMINAL.NUMBER of a new item")
    IS_WATCHED = word("1 if the guard watches the items")
    VALUE = word("the item, as values of OBJECT_MESSAGE")


class TEXTS_MESSAGE(Region):
    """Texts, for an enumeration: their number, the length of each, and the characters of all.

    A character is its number, + SPELLED.PLAIN where it is to be spelled plainly. In the texts of an OBJECT_MESSAGE -e
    in place of a length stands for a text whose expression is e.
    """

    COUNT = word("number of texts")
    LENGTHS = words(0, "the length of each; then the characters of all")


ANY_VALUE, NEW_VALUE = -1, -2  # words of values


class SYMBOLS(Region):
    """A list of symbols in a message."""

    COUNT = word("how many")
    ITEMS = words(0, "records of symbols")


@accessor
def symbols_start(symbols):
    """The index of the first symbol of a list in a message."""
    return symbols + SYMBOLS.ITEMS


@accessor
def symbols_end(message, symbols):
    """The index behind the last symbol of a list, where the next list begins."""
    return symbols + SYMBOLS.ITEMS + np.int64(message[symbols + SYMBOLS.COUNT])


@accessor
def last_symbol(message, symbols):
    """The last symbol of a list that is not empty."""
    return np.int64(message[symbols + np.int64(message[symbols + SYMBOLS.COUNT])])
