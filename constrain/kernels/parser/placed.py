"""Rules of JSON values at the places where texts write them, made from templates as the parser reaches them.

The idea: what is written around the values of a schema depends on the place, but nothing else does. So the owner
describes a value, an object or an array once, as templates (records/grammars.py), and each nonterminal that is reached
at some place gets its alternatives here, without a stop: a template stands for itself at the same place or inside of
the container, and punctuation for the symbols of the place.

Cost: a look-up a symbol. Reference: tests/masks/engine/test_bulk_rules.py, which compares the rules with what `expand`
gives.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.parser.key_sets import alternatives_by_keys
from constrain.kernels.parser.object_rules import append, new_suffix, new_suffixes, suffix_of_symbols
from constrain.kernels.parser.rules import nonterminal, suffix_of
from constrain.kernels.records.arena import intern2, kind, region
from constrain.kernels.records.grammars import (
    LAYOUT,
    LIST,
    NONTERMINAL,
    OPENING,
    OPENINGS,
    PLACED,
    TEMPLATE,
    TEXT_PLACE,
    list_end,
    list_start,
    opening_of,
    symbols_at,
)
from constrain.kernels.records.messages import last_symbol, symbols_end, symbols_start


@kernel("i(arena, arena, i, i)", entry=True, brief=True)
def placed(A, H, template, place):
    """The nonterminal that a template is at a place."""
    record = intern2(A, H, PLACED.KIND, template, place)
    if A[record + PLACED.NONTERMINAL] == 0:
        is_recursive = TEMPLATE.RIGHT_RECURSIVE(A, template)
        made = nonterminal(A, TEMPLATE.NUMBER(A, template), is_recursive, TEMPLATE.IS_WATCHED(A, template))
        A[made + NONTERMINAL.PLACED] = record
        A[record + PLACED.NONTERMINAL] = made
    return PLACED.NONTERMINAL(A, record)


@kernel("i(arena, arena, i, i, i, i)")
def suffix_at(A, H, symbols, place, layout, is_alone):
    """The SUFFIX of an alternative of a template at a place. is_alone: as TEMPLATE.IS_ALONE."""
    following = 0
    for k in range(symbols_end(A, symbols) - 1, symbols, -1):
        symbol = np.int64(A[k])
        if symbol < 0 and is_alone and following != 0:
            following = new_suffixes(A, A, symbols_at(A, layout, symbol), following)
            continue
        if symbol < 0:
            following = suffix_of_symbols(A, H, A, symbols_at(A, layout, symbol), following)
            continue
        if kind(A, symbol) == TEMPLATE.KIND:
            inside = TEMPLATE.IS_INSIDE(A, symbol) != 0
            symbol = placed(A, H, symbol, LAYOUT.INNER(A, layout) if inside else place)
        following = new_suffix(A, symbol, following) if is_alone else suffix_of(A, H, symbol, following)
    return following


@kernel("i(arena, i, i)")
def openings_of(A, symbols, layout):
    """The OPENINGS of an alternative of a template that begins a container; 0 for another one."""
    first = np.int64(A[symbols_start(symbols)])
    is_begun = first == -LAYOUT.OBJECTS or first == -LAYOUT.ARRAYS
    return symbols_at(A, layout, first) if is_begun else np.int64(0)


@kernel("i(arena, i, i)")
def count_alternatives(A, words, layout):
    """The number of alternatives of a template, whose words are given, in a layout."""
    n = np.int64(0)
    at = list_start(words)
    while at < list_end(A, words):
        openings = openings_of(A, at, layout)
        n += OPENINGS.COUNT(A, openings) if openings != 0 else 1
        at = symbols_end(A, at)
    return n


@kernel("i(arena, arena, i)")
def alternatives_at(A, H, symbol):
    """The LIST of alternatives of a nonterminal that is a template at a place; 0: the owner has to say more."""
    record = NONTERMINAL.PLACED(A, symbol)
    place = PLACED.TEXT_PLACE(A, record)
    template = PLACED.TEMPLATE(A, record)
    words = TEMPLATE.ALTERNATIVES(A, template)
    layout = TEXT_PLACE.LAYOUT(A, place)
    if words == 0 or layout == 0:
        return np.int64(0)
    out = region(A, LIST.WORDS + count_alternatives(A, words, layout))
    at = list_start(words)
    while at < list_end(A, words):
        openings = openings_of(A, at, layout)
        if openings == 0:
            append(A, out, suffix_at(A, H, at, place, layout, TEMPLATE.IS_ALONE(A, template)))
        else:
            first = last_symbol(A, at)
            for k in range(OPENINGS.COUNT(A, openings)):
                opening = opening_of(openings, k)
                begun = suffix_of(A, H, placed(A, H, first, OPENING.TEXT_PLACE(A, opening)), 0)
                append(A, out, suffix_of_symbols(A, H, A, OPENING.SYMBOLS(A, opening), begun))
        at = symbols_end(A, at)
    A[symbol + NONTERMINAL.ALTERNATIVES] = out
    return out


@kernel("i(arena, arena, i)")
def alternatives_of(A, H, symbol):
    """The LIST of alternatives of a nonterminal; 0: ask the owner."""
    alternatives = NONTERMINAL.ALTERNATIVES(A, symbol)
    if alternatives == 0 and NONTERMINAL.KEY_SET(A, symbol) != 0:
        return alternatives_by_keys(A, H, symbol)
    if alternatives == 0 and NONTERMINAL.PLACED(A, symbol) != 0:
        return alternatives_at(A, H, symbol)
    return alternatives
