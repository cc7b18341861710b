"""Records of parser states: Earley sets over lexemes. Owner: parser/."""

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.schema import Record, Region, key, keys, memo, word, words


class PARSER(Record, kind=16):
    """The set of items after a lexeme. Invariant: finished items were carried back to their origins."""

    GRAMMAR = key("the grammar that holds here")
    IS_ACCEPTING = key("1 if the text may end, as its items say that are finished")
    ITEMS = keys("ITEM words (lhs, suffix, origin), sorted, distinct; origin 0: the whole text")
    CLOSURE = memo("the CLOSURE region; 0: the state is not closed")
    LEXER = memo("the lexer state that looks for every terminal that it waits for; once it is closed")
    ACCEPTS = memo("1 no, 2 yes: the text may end here; once it is closed")
    WATCHED = memo("1 no, 2 yes: a watched symbol is still to come in what was begun")
    PREDICTED = memo("the PREDICTED region that it shares with other states, or 0")
    FRESH = memo("the CONFIG of a grammar at the beginning of a lexeme here")


class SCAN(Record, kind=17):
    """A parser state after a lexeme."""

    PARSER = key("the parser state before it")
    TAGSET = key("the terminals as which it ended")
    TARGET = memo("the parser state behind it; 1: there is none")


class TERMINALS(Record, kind=24):
    """A set of terminals."""

    EXPRESSIONS = keys("their expressions, sorted, distinct")
    LEXER = memo("the lexer state that looks for all of them")


class AWAITED(Record, kind=26):
    """The terminals and predicted items that a parser state waits for."""

    GRAMMAR = key("its grammar")
    PREDICTED = key("what it predicts, or 0")
    OWN = keys("TERMINAL records that its own items wait for")
    LEXER = memo("the lexer state of such parser states")


class PREDICTION(Record, kind=25):
    """Nonterminals that are predicted together."""

    NONTERMINALS = keys("NONTERMINAL records, sorted, distinct")
    TOGETHER = memo("the PREDICTED region of all of them")


class ITEM(Region):
    """A row of an item set on the scratch stack; PARSER.ITEMS and CLOSURE rows are its first three words."""

    LHS = word("the nonterminal that was begun")
    SUFFIX = word("the symbols that are still to come")
    ORIGIN = word("the parser state in which it was begun; 0: it is the whole text")
    SLOT = word("its slot of the table in the last quarter of S")


KEPT = int(ITEM.SLOT)  # words of an item that are kept in the arena


class ENDING(Region):
    """A lexeme that has ended, on the scratch stack."""

    PARSER = word("the parser state before it")
    TAGSET = word("the terminals as which it ended")


class CLOSURE(Region):
    """The own items of a closed parser state, completions included, that wait for something."""

    N_WAITING = word("how many wait for a nonterminal")
    N_SCANNING = word("how many wait for a terminal")
    ITEMS = words(0, "KEPT words for each, those that wait for a nonterminal first")


class PREDICTED(Region):
    """The items that nonterminals predict. Each begins where it is predicted, so it has no origin."""

    IS_NULLABLE = word("1 if the nonterminal derives the empty text")
    N_WAITING = word("how many items wait for a nonterminal")
    N_SCANNING = word("how many wait for a terminal")
    PAIRS = words(0, "PREDICTED_PAIR words (lhs, suffix) for each, those that wait for a nonterminal first")


PREDICTED_PAIR = int(ITEM.ORIGIN)  # words of a predicted item
HERE = 1  # the origin of predicted items: the state in which they are predicted
DEAD_SCAN = 1  # SCAN.TARGET where no parser state is behind the lexeme


@accessor
def parser_items(p):
    """The index of the first item of a parser state."""
    return p + PARSER.ITEMS


@accessor
def waiting_start(A, p):
    """The index of the first own item of a closed state that waits for a nonterminal."""
    return np.int64(A[p + PARSER.CLOSURE]) + CLOSURE.ITEMS


@accessor
def waiting_end(A, p):
    """The index behind the last own item that waits for a nonterminal, where the ones for a terminal begin."""
    return A[p + PARSER.CLOSURE] + CLOSURE.ITEMS + KEPT * np.int64(A[A[p + PARSER.CLOSURE] + CLOSURE.N_WAITING])


@accessor
def scanning_end(A, p):
    """The index behind the last own item of a closed state that waits for a terminal."""
    return waiting_end(A, p) + KEPT * np.int64(A[A[p + PARSER.CLOSURE] + CLOSURE.N_SCANNING])


@accessor
def predicted_start(predicted):
    """The index of the first predicted item that waits for a nonterminal."""
    return predicted + PREDICTED.PAIRS


@accessor
def predicted_waiting_end(A, predicted):
    """The index behind the last predicted item that waits for a nonterminal, where the ones for a terminal begin."""
    return predicted + PREDICTED.PAIRS + PREDICTED_PAIR * np.int64(A[predicted + PREDICTED.N_WAITING])


@accessor
def predicted_end(A, predicted):
    """The index behind the last predicted item."""
    return predicted_waiting_end(A, predicted) + PREDICTED_PAIR * np.int64(A[predicted + PREDICTED.N_SCANNING])
