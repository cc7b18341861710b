"""Records of grammars: terminals, nonterminals, and the symbols of their alternatives.

A nonterminal has no alternatives until a text reaches it. Then they are made from the template that it stands for, if
there is one (parser/placed.py); else the kernel raises `Unexpanded`, and the owner (engine/automaton.py) gives it some.
"""

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.arena import kind, set_head
from constrain.kernels.records.schema import Record, Region, key, memo, word, words


class TERMINAL(Record, kind=12):
    """A terminal: the lexemes that it matches, its rank, and the grammar after it. Owner: engine/automaton.py."""

    EXPRESSION = key("what its lexemes are")
    EXCLUDED = key("TAGSET of terminals that a lexeme must not be as well, or 0")
    RANK = key("under the greedy lexer, terminals of the highest rank win")
    AFTER = key("the GRAMMAR that holds after it, or 0: no change")


class NONTERMINAL(Record, kind=13):
    """Each is its own: a nonterminal is not in the hash table. Owner: engine/automaton.py, parser/placed.py."""

    NUMBER = key("says whose it is")
    ALTERNATIVES = memo("region LIST of its alternatives, SUFFIX records; 0: ask the owner")
    RIGHT_RECURSIVE = memo("1 if its alternatives are added in its place where it is the last symbol")
    IS_WATCHED = memo("1 if the grammar's guard watches it")
    PREDICTS = memo("the PREDICTED region")
    KEY_SET = memo("the KEY_SET record that says its alternatives, if one does")
    PLACED = memo("the PLACED record that says its alternatives, if one does")


class TEMPLATE(Record, kind=39):
    """Nonterminals that differ only in the place where they stand. Each is its own, as nonterminals are.

    Owner: engine/templates.py, parser/object_rules.py.
    """

    NUMBER = key("NONTERMINAL.NUMBER of the nonterminals")
    ALTERNATIVES = memo("LIST of words: SYMBOLS for each alternative; a symbol below 0 is - a field of LAYOUT. 0: ask")
    RIGHT_RECURSIVE = memo("as in NONTERMINAL")
    IS_WATCHED = memo("as in NONTERMINAL")
    IS_INSIDE = memo("1 if it is a value: it stands inside of the container whose alternatives name it")
    IS_ALONE = memo("1 if no other nonterminal has alternatives that end alike, but for what closes an object")


class TEXT_PLACE(Record, kind=40):
    """A place where a container may stand, which says what is written around the values in it."""

    LAYOUTS = key("the number of the layouts that the place is one of")
    NUMBER = key("the number of the place among them")
    LAYOUT = memo("the LAYOUT region; 0: ask the owner")


class PLACED(Record, kind=41):
    """A template at a place."""

    TEMPLATE = key("the TEMPLATE")
    TEXT_PLACE = key("the TEXT_PLACE")
    NONTERMINAL = memo("the NONTERMINAL, once something names it")


class LAYOUT(Region):
    """A layout: all words but INNER are where SYMBOLS or OPENINGS begin. Owner: engine/templates.py."""

    INNER = word("the TEXT_PLACE of the values in a container")
    COMMA = word("what stands between two values")
    COLON = word("what stands between a key and its value")
    BEHIND = word("what stands behind a value")
    CLOSE_OBJECT = word("the end of an object")
    CLOSE_ARRAY = word("the end of an array")
    EMPTY_OBJECT = word("an object without members")
    EMPTY_ARRAY = word("an array without items")
    ANY = word("any value in a container")
    OBJECTS = word("OPENINGS: how an object with members may begin")
    ARRAYS = word("OPENINGS: how an array with items may begin")


class OPENINGS(Region):
    """The ways in which a container may begin."""

    COUNT = word("how many")
    ROWS = words(0, "OPENING words for each")


class OPENING(Region):
    """A way in which a container may begin."""

    TEXT_PLACE = word("the TEXT_PLACE of the container")
    SYMBOLS = word("where the SYMBOLS begin that are written before the first key or item")


class SUFFIX(Record, kind=14):
    """A list of symbols that is still to come, so that alternatives with equal ends share it; 0 is the empty one."""

    SYMBOL = key("TERMINAL or NONTERMINAL")
    NEXT = key("the SUFFIX behind it, or 0")
    HOLDS_WATCHED = memo("1 if a watched symbol is in it; set when it is made")


class GRAMMAR(Record, kind=15):
    """The settings that hold for a whole text. Owner: engine/automaton.py."""

    NUMBER = key("number of its settings")
    IGNORED = memo("region LIST of the terminals that may stand between others")
    GREEDY = memo("1 under the greedy lexer")
    CLOSING = memo("1 + a byte: a text is a member if it is one with this byte at its end; 0: none")
    WATCHED = memo("1 if the guard is asked from beginning to end")


class LIST(Region):
    """A list of records."""

    COUNT = word("how many")
    ITEMS = words(0, "the records")


@accessor
def list_start(region):
    """The index of the first item of a LIST."""
    return region + LIST.ITEMS


@accessor
def list_end(A, region):
    """The index behind the last item of a LIST."""
    return region + LIST.ITEMS + A[region + LIST.COUNT]


@accessor
def symbols_at(A, layout, slot):
    """The SYMBOLS or OPENINGS that stand in a layout for a symbol of a template below 0."""
    return np.int64(A[layout - slot])


@accessor
def opening_of(openings, k):
    """The k-th OPENING."""
    return openings + OPENINGS.ROWS + OPENING.WORDS * k


@accessor
def template_at(first, k):
    """The k-th of templates that were made one after the other."""
    return first + TEMPLATE.WORDS * k


@accessor
def waits_for_nonterminal(A, suffix):
    """True if the first symbol of a SUFFIX is a nonterminal."""
    return kind(A, SUFFIX.SYMBOL(A, suffix)) == NONTERMINAL.KIND


@accessor
def new_nonterminal_head(A, r):
    """Make zero words a NONTERMINAL."""
    set_head(A, r, NONTERMINAL.KIND, 1)


@accessor
def new_template_head(A, r):
    """Make zero words a TEMPLATE."""
    set_head(A, r, TEMPLATE.KIND, 1)


@accessor
def new_suffix_head(A, r):
    """Make zero words a SUFFIX."""
    set_head(A, r, SUFFIX.KIND, 2)
