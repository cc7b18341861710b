"""Records as numpy arrays and as text, for Python that looks at states: no copies, not to be written to.

The idea: accessors read one word at a time, which is slow in Python. Here are whole rows. An array is good until the
arena grows or is flushed, so it is read under the owner's lock.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.records.arena import HEADER, key_end, key_start, kind
from constrain.kernels.records.configurations import CONFIG, PAIR, config_pairs
from constrain.kernels.records.expressions import ALT, CAT, EXPRESSION, LITERAL, PARTITION, TAG, is_nullable
from constrain.kernels.records.grammars import SUFFIX, list_end, list_start
from constrain.kernels.records.parser_states import (
    KEPT,
    PARSER,
    PREDICTED_PAIR,
    parser_items,
    predicted_end,
    predicted_start,
    predicted_waiting_end,
    scanning_end,
    waiting_end,
    waiting_start,
)
from constrain.kernels.records.schema import KIND_MASK, Record, Region

Int32 = NDArray[np.int32]


def describe(A: Int32, at: int, layout: type[Region] | None = None) -> str:
    """A record or region, word by word, with what was declared of each.

    Args:
        A: The arena, or the array that the words are in.
        at: Where they begin.
        layout: What stands there, if it is a region or a frame; a record says itself what it is.

    Returns:
        A line for each field: its name, its word (a list of several), and its meaning. "..." stands for words whose
        number the layout does not say.

    Example:
        >>> from constrain.languages.automata.store import Store
        >>> from constrain.kernels.records import arena, expressions
        >>> store = Store()
        >>> record = arena.intern2(store.memory.A, store.memory.H, expressions.CAT.KIND, 64, 73)
        >>> print(describe(store.memory.A, record).splitlines()[-2])
          HEAD         64  an expression that is no CAT, where `lexer_state` made it
    """
    found = layout or Record.KINDS[kind(A, at)]
    lines = [f"{found.__name__} at {at}"]
    width = max(map(len, found.FIELDS), default=0)
    for name, field in found.FIELDS.items():
        start = at + field
        if field.words == 1:
            word = str(A[start])
        elif field.words or layout is None:
            word = str(A[start : start + field.words if field.words else key_end(A, at)].tolist())
        else:
            word = "..."
        lines.append(f"  {name:{width}} {word:>5}  {field.meaning}")
    return "\n".join(lines)


def key_words(A: Int32, record: int) -> Int32:
    """The key words of a record. int32[n]"""
    return A[key_start(record) : key_end(A, record)]


def list_items(A: Int32, region: int) -> Int32:
    """The items of a LIST. int32[n]"""
    return A[list_start(region) : list_end(A, region)]


def pairs(A: Int32, configuration: int) -> Int32:
    """The PAIR words of a configuration. int32[pairs, 2]"""
    return A[config_pairs(configuration) : key_end(A, configuration)].reshape(-1, PAIR.WORDS)


def items(A: Int32, parser: int) -> Int32:
    """The items of a parser state that were not predicted in it: (lhs, suffix, origin). int32[items, 3]"""
    return A[parser_items(parser) : key_end(A, parser)].reshape(-1, KEPT)


def own_rows(A: Int32, parser: int, waiting: bool, scanning: bool) -> Int32:
    """The own items of a closed state that wait for a nonterminal (waiting), a terminal (scanning). int32[items, 3]"""
    start = waiting_start(A, parser) if waiting else waiting_end(A, parser)
    return A[start : scanning_end(A, parser) if scanning else waiting_end(A, parser)].reshape(-1, KEPT)


def predicted_rows(A: Int32, parser: int, waiting: bool, scanning: bool) -> Int32:
    """The predicted items of a closed state, in the same way: (lhs, suffix). int32[items, 2]"""
    predicted = PARSER.PREDICTED(A, parser)
    if not predicted:
        return A[:0].reshape(-1, PREDICTED_PAIR)
    start = predicted_start(predicted) if waiting else predicted_waiting_end(A, predicted)
    stop = predicted_end(A, predicted) if scanning else predicted_waiting_end(A, predicted)
    return A[start:stop].reshape(-1, PREDICTED_PAIR)


def symbols_of(A: Int32, suffixes: Int32) -> Int32:
    """The first symbols of SUFFIX records. int32[n]"""
    return A[suffixes + SUFFIX.SYMBOL]


def kinds_of(A: Int32, records: Int32) -> Int32:
    """The kinds of records. int32[n]"""
    return A[records] & KIND_MASK


def rests_of(A: Int32, suffixes: Int32) -> Int32:
    """The suffixes behind the first symbols of SUFFIX records. int32[n]"""
    return A[suffixes + SUFFIX.NEXT]


def byte_classes(A: Int32, configuration: int) -> NDArray[np.uint8]:
    """The class of each byte in a configuration from which some byte was read. uint8[256]"""
    return key_words(A, int(A[configuration + CONFIG.PARTITION])).view(np.uint8)


def steps_of(A: Int32, expression: int) -> tuple[Int32, Int32]:
    """The least byte of each class of an expression whose successors are known, and the state after it. int32[classes]

    The classes are in the order of their least bytes.
    """
    partition, row = int(A[expression + EXPRESSION.PARTITION]), int(A[expression + EXPRESSION.ROW])
    start, classes = int(A[partition + PARTITION.REPRESENTATIVES]), int(A[partition + PARTITION.CLASSES])
    return A[start : start + classes], A[row : row + classes]


def unexpanded(A: Int32) -> Int32:
    """The nonterminals that wait for their alternatives. int32[n]"""
    start = int(A[HEADER.UNEXPANDED])
    return A[start : start + int(A[HEADER.N_UNEXPANDED])]


def terminals_within(A: Int32, expression: int, ended: bool = False) -> frozenset[int]:
    """The terminals (their expressions) that a lexeme may be in a lexer state; ended: only where it may end there."""
    terminals, stack = set(), [expression]
    while stack:
        e = stack.pop()
        if ended and not is_nullable(A, e):
            continue
        if kind(A, e) == TAG.KIND:
            terminals.add(TAG.TERMINAL(A, e))
        elif kind(A, e) == CAT.KIND:
            stack.append(CAT.TAIL(A, e))
        elif kind(A, e) == LITERAL.KIND:
            stack.append(LITERAL.TAIL(A, e))
        elif kind(A, e) == ALT.KIND:
            stack += key_words(A, e).tolist()
    return frozenset(terminals)
