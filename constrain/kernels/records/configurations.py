"""Records of configurations: all lexemes that may be in progress after some bytes. Owner: parser/configurations.py."""

import numpy as np

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.arena import key_end, size
from constrain.kernels.records.expressions import class_of
from constrain.kernels.records.grammars import GRAMMAR
from constrain.kernels.records.schema import Record, Region, column, key, keys, memo, row_reader, word


class CONFIG(Record, kind=18):
    """A configuration: pairs (parser state, lexer state). `NONE` is the dead one.

    Invariant: dynamic: the pairs are a set, sorted; greedy: a list, the longest lexeme first.
    """

    GRAMMAR = key("the grammar that holds")
    PAIRS = keys("PAIR words for each lexeme")
    PARTITION = memo("the PARTITION of bytes with the same successor")
    ROW = memo("region: the successor by class of bytes; 0: not known yet; ASK_WHOLE: ask the whole configuration")
    MASK = memo("the MASK region")
    ACCEPTS = memo("1 no, 2 yes: the text so far is a member")
    WATCHED = memo("1 no, 2 yes: a lexeme in progress began in a watched parser state")
    WHOLE = memo("the configuration whose last pair has its lexer state")
    FORCED = memo("what restricts the next token: NOT_FORCED and others of parser/forced.py")


class PAIR(Region):
    """A lexeme in progress."""

    BEGUN = word("2 p + 1 if nothing was read yet (a fresh pair), else 2 p; p: the parser state before the lexeme")
    LEXER = word("the lexer state; 0: the pair is open, its parser state may not be closed yet")


class LEAP(Region):
    """On the stack: one open lexeme, and the beginning of the next, in place of a dynamic configuration."""

    PARSER = word("the parser state in which the lexeme began")
    LEXER = word("its lexer state; NONE: it cannot go on")
    NEXT = word("the parser state after it, if it may end here; else 0")
    NEXT_LEXER = word("the lexer state of the next lexeme; NONE: none may begin")


class LEXER_LIST(Record, kind=21):
    """The lexer states of a configuration, in order; what depends on them alone is remembered here."""

    NODE = key("1 + the trie node below which tokens are read; 0: the root without the hub, and for partitions")
    LEXERS = keys("lexer states")
    TABLE = memo("the GREEDY_TABLE region")
    PARTITION = memo("the PARTITION of all lexer states together")


class BEGINNINGS(Region):
    """Some texts, by their beginnings: the empty one first, shorter ones before longer ones, then by their bytes."""

    COUNT = word("how many there are")
    BYTE = column("by beginning: its last byte")
    BEFORE = column("by beginning: the one without its last byte")
    LONGER = column("by beginning: the first that is longer by a byte, or where it would stand")
    IS_WHOLE = column("by beginning: 1 if it is one of the texts")


class SPELLINGS(Region):
    """Some tokens that may spell one of some texts, as a trie in its own order, each node before those below it."""

    COUNT = word("how many nodes there are")
    DEEPEST = word("the bytes of the longest token")
    BYTE = column("by node: its byte")
    DEPTH = column("by node: the bytes before it")
    NEXT = column("by node: the first that is not below it")
    ENDS = column("by node: COMPLETES, if one of the texts ends with it; the BEGINNINGS that a token ends with; or 0")


class BEGUN(Region):
    """On the stack: what may follow a beginning of some texts."""

    AFTER = word("the configuration after it; NONE: it may not follow")
    OTHERS = word("how many other bytes may follow it; COMPLETE_TEXT: it is one of the texts")


ASK_WHOLE = -1  # in rows: the open pair has to be asked


@accessor
def config_is_greedy(A, c):
    """Not 0 if a configuration is read by the greedy lexer."""
    return A[A[c + CONFIG.GRAMMAR] + GRAMMAR.GREEDY]


@accessor
def config_pairs(c):
    """The index of the first pair of a configuration."""
    return c + CONFIG.PAIRS


@accessor
def config_pair(c, k):
    """The k-th pair of a configuration."""
    return c + CONFIG.PAIRS + PAIR.WORDS * k


@accessor
def last_pair(A, c):
    """The last pair of a configuration."""
    return key_end(A, c) - PAIR.WORDS


@accessor
def config_length(A, c):
    """Number of pairs of a configuration."""
    return (size(A, c) - 1) >> 1


@accessor
def pair_parser(A, pair):
    """The parser state in which the lexeme of a pair began."""
    return np.int64(A[pair + PAIR.BEGUN] >> 1)


@accessor
def pair_is_fresh(A, pair):
    """1 if nothing of the lexeme was read yet."""
    return A[pair + PAIR.BEGUN] & 1


@accessor
def pair_begun(A, pair):
    """The first word of the pair once a byte was read: it is no longer fresh."""
    return A[pair + PAIR.BEGUN] & ~1


@accessor
def fresh_word(p):
    """The first word of a pair that begins in the parser state p, nothing being read."""
    return 2 * p + 1


@accessor
def begun_word(p):
    """The first word of a pair that began in the parser state p."""
    return 2 * p


@accessor
def config_successor_cell(A, c, b):
    """The index of the successor of a configuration by byte b, once it has a row."""
    return A[c + CONFIG.ROW] + class_of(A, A[c + CONFIG.PARTITION], b)


@accessor
def is_watched(A, c):
    """True if a configuration is watched."""
    return A[c + CONFIG.WATCHED] == 2


@accessor
def list_node(A, lexers):
    """The node of a LEXER_LIST; -1: the root without the hub."""
    return np.int64(A[lexers + LEXER_LIST.NODE]) - 1


list_lexer = row_reader(LEXER_LIST.LEXERS, 1)


@accessor
def list_length(A, lexers):
    """Number of lexer states of a LEXER_LIST."""
    return size(A, lexers) - 1
