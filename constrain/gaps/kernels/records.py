"""Records of texts with gaps. Each is an int32 array of its own, and stands at its first word. Owner: gaps/kernels/.

A field that says "by rule", "by pair" ... is where a column begins; `pack` lays the columns behind the last field.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.schema import Region, column, word

Int32 = NDArray[np.int32]


class RULES(Region):
    """The rules of a grammar, in lists by symbol. The first symbols are the terminals."""

    SYMBOLS = word("number of symbols")
    TERMINALS = word("number of terminals")
    EMPTIES = column("the symbols with an empty derivation of their own")
    N_EMPTIES = word("how many")
    BY_LEFT = column("by symbol: where the RULE rows begin whose first of two symbols it is; one more for the end")
    BY_RIGHT = column("by symbol: where those begin whose second it is")
    BY_UNIT = column("by symbol: where those begin whose only one it is")
    BY_PARENT = column("by symbol: where those begin that derive from it")
    ROWS = word("the rows")


class RULE(Region):
    """A rule in a list. PERF: all that is asked of it stands together, without a look at where a column begins."""

    PARENT = word("the symbol that it derives from")
    LEFT = word("its first symbol")
    RIGHT = word("its second symbol, or -1")
    NUMBER = word("its number")


class AGENDA(Region):
    """The symbols with items at a position whose consequences are still to be found."""

    SYMBOLS = word("number of symbols")
    POSITIONS = word("number of positions")
    POSITION = word("the position")
    HEIGHT = word("number of symbols on the stack")
    STACK = word("the stack of symbols")
    WAITS = word("by symbol: 1 if it is on the stack")
    BEGINS = word("by symbol: 2 p + answer, of whether a lexeme that ends at position p - 1 may stand before it")


class PATTERN(Region):
    """A pattern, as an automaton of byte classes without empty arcs, and the lexer of all terminals."""

    NODES = word("number of nodes")
    CLASSES = word("number of classes of bytes")
    FIRST = column("by node: where its ARC rows begin; one more for the end")
    ARCS = word("the rows")
    END = column("by node: 1 if a text may end there")
    MOVES = word("by state of the lexer and class: the state after it, or -1")
    KIND = column("by state: FRESH at the beginning of a terminal, ACCEPTING after a whole text of it, else 0")
    OWNER = column("by state: its terminal")
    START = column("by terminal: its FRESH state")
    N_STARTS = word("number of terminals")


class ARC(Region):
    """An arc of a pattern."""

    CLASS = word("the class of its byte")
    NODE = word("the node that it leads to")
    WEIGHT = word("its weight")


class PAIRS(Region):
    """The pairs of a state of the lexer and a node of a pattern, sorted by nodes; and the positions."""

    COUNT = word("number of pairs")
    POSITIONS = word("number of positions, the nodes where a lexeme may end")
    STATE = column("by pair: the state")
    NODE = column("by pair: the node")
    POSITION = column("by node: the number of its position, or -1")
    NUMBER = column("by state and node: the number of the pair, or -1")


class ITEMS(Region):
    """The live items of a grammar, numbered, and what is known of their costs."""

    COUNT = word("number of items")
    POSITIONS = word("number of positions")
    HEIGHT = word("number of items in the heap")
    OFFSET = column("by row of items: the number of its first item")
    COLUMN = column("by symbol * positions + where items end: the place in BY_END of the first; and their number")
    BY_END = column("the items by their symbol, where they end and where they begin")
    ROW = column("by item: its row")
    END = column("by item: the position where it ends")
    COST = column("by item: its cost, as far as it is known")
    RULE = word("by item: the rule at the top of a cheapest derivation, or -1")
    MIDDLE = word("by item: where the first symbol of that rule ends, or -1")
    HEAP = column("the heap of items, the cheapest first")
    PLACE = column("by item: its place in the heap; -1: it was never in it; -2: it is settled")


@accessor
def moves_of(T, state):
    """The start of the moves of a state of the lexer, a word for each class of bytes."""
    return T[PATTERN.MOVES] + state * np.int64(T[PATTERN.CLASSES])


@accessor
def has_bit_of(rows, row, p):
    """True if a row of bits has position p."""
    return (rows[row, p >> 5] >> np.uint32(p & 31)) & np.uint32(1) != 0


@accessor
def set_bit_of(rows, row, p):
    """Add position p to a row of bits."""
    rows[row, p >> 5] |= np.uint32(1) << np.uint32(p & 31)


@accessor
def set_item_cost(C, item, cost):
    """Write the cost of an item."""
    C[C[ITEMS.COST] + item] = cost


@accessor
def set_heap_place(C, item, at):
    """Write the place of an item in the heap."""
    C[C[ITEMS.PLACE] + item] = at
