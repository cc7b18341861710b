"""Records of regular expressions, and of what lexer states share. Owner: lexer/.

    EMPTY                no text (the record NONE)       ALT(e...)      union, sorted, distinct
    EPSILON              the empty text (EPS)            AND(e...)      intersection, sorted, distinct
    BYTES(8 words)       one byte of a set               NOT(e)         every other byte string
    CAT(e, f)            one after the other             REP(e, m, n)   m to n copies, n = -1: no bound
    TAG(t)               the empty text, marked t: a lexeme of terminal t ends here
    LITERAL(x, i, e)     the characters of the TEXT x from the i-th on, then e: a CAT that is not written out yet
    REMAINDER(m, r, s)   digits, and points that do not count, that continue a number of remainder r to a multiple of m

Invariant: the flags of an expression are set when it is made. Equal expressions are one record.
Reference: tests/reading_oracle.py.
"""

import numpy as np

from constrain.kernels import kernel
from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.arena import HEADER, NONE, intern, intern1
from constrain.kernels.records.schema import Record, Region, key, keys, memo, words


class EXPRESSION(Record):
    """The memo words of every kind of expression."""

    FLAGS = memo("bits: NULLABLE ...; set when the record is made")
    PARTITION = memo("the PARTITION of bytes with equal derivatives")
    ROW = memo("region: the successor by class of bytes, pruned; 0: not known yet")
    TAGS = memo("the TAGSET of terminals whose lexeme may end here")
    TABLE = memo("dynamic: the PIECES region of a lexer state, or the TABLE region of an untagged expression")
    LIFE = memo("ALIVE, DEAD, or the number of the liveness search that visited it")
    CLAMPED = memo("the expression that no token can tell from it (counters.py)")
    RAW_ROW = memo("region: as ROW, not pruned")


NULLABLE, NEGATIVE, CONTINUES, KNOWN = 1, 2, 4, 8  # flags; the next three are set by automata/lower.py
CHARACTER, ANY_CHARACTER, UNIVERSAL = 16, 32, 64  # one character of a set; of all; every text of characters and more
COUNTED = 128  # set when the record is made, too
FIRST_SLICE = 8  # bit FIRST_SLICE + j of the flags: every character of the vocabulary's slice j is in the expression
ALIVE, DEAD, FIRST_SERIAL = 1, 2, 3  # values of LIFE; a larger one marks a visit of the search with that number


class EMPTY(EXPRESSION, kind=1):
    """No text."""


class EPSILON(EXPRESSION, kind=2):
    """The empty text."""


class BYTES(EXPRESSION, kind=3):
    """One byte of a set."""

    SET = keys("256 bits")


class CAT(EXPRESSION, kind=4):
    """A text of the head, and one of the tail."""

    HEAD = key("an expression that is no CAT, where `lexer_state` made it")
    TAIL = key("an expression")


class ALT(EXPRESSION, kind=5):
    """A text of one of the parts."""

    PARTS = keys("expressions, sorted, distinct; at most one is a set of bytes")


class AND(EXPRESSION, kind=6):
    """A text of all parts."""

    PARTS = keys("expressions, sorted, distinct")


class NOT(EXPRESSION, kind=7):
    """Every byte string but the texts of the operand."""

    OPERAND = key("an expression")


class REP(EXPRESSION, kind=8):
    """Copies of a unit."""

    UNIT = key("an expression")
    LOW = key("at least so many copies")
    HIGH = key("at most so many copies; -1: no bound")


class TAG(EXPRESSION, kind=9):
    """The empty text, marked: a lexeme of a terminal ends here."""

    TERMINAL = key("the expression of the terminal")


class REMAINDER(EXPRESSION, kind=20):
    """Digits that continue a number to a multiple of the divisor."""

    DIVISOR = key("the divisor")
    REST = key("remainder of what was read")
    DIGITS = key("region: the byte sets of the ten digits and the point")


class LITERAL(EXPRESSION, kind=37):
    """The rest of a long run of characters, and a tail."""

    CHARACTERS = key("a TEXT")
    AT = key("the number of the next character, below the length of the TEXT")
    TAIL = key("an expression")


class TEXT(Record, kind=38):
    """Characters; what a LITERAL is of."""

    CHARACTERS = keys("expressions that are not nullable, nor do they contain AND, NOT or counters")


class FRONTS(EXPRESSION, kind=31):
    """Byte sets with which an expression can begin; only the memo word PARTITION is used."""

    SETS = keys("BYTES records, sorted, distinct")


class PARTITION(Record, kind=10):
    """A map from bytes to classes, which are numbered as they occur."""

    CLASS_OF = keys("64 words: the class of each byte, four a word")
    CLASSES = memo("number of classes")
    REPRESENTATIVES = memo("region: the least byte of each class")


class TAGSET(Record, kind=11):
    """A set of terminals. Memo words are scratch of one walk, told by its serial; no walk is inside another."""

    TAGS = keys("expressions of terminals, sorted, distinct")
    MARK = memo("the serial of the walk that saw it last")
    NUMBER = memo("dynamic: its number in that walk; greedy: region: 1 + the number of its block, by pair")
    BITS = memo("dynamic: region: the bytes with which a lexeme that may end goes on all the same")
    TRIE = memo("an expression that finds all of them, with tags; 0: none was made")


class ENDED(Record, kind=32):
    """A terminal with its tag."""

    TERMINAL = key("its expression")
    TAIL = memo("the expression and its tag, without the byte set that it begins with, if it begins with one")


class LENGTHS(Record, kind=33):
    """Lengths of an expression's texts, in bytes, each plus one. Owner: lexer/counters.py."""

    EXPRESSION = key("the expression")
    SHORTEST = memo("the shortest text")
    FARTHEST = memo("the most bytes that may be missing to the end of a text")


class CUTTING(Region):
    """Scratch words of the cutting of byte classes; classes are numbered below 256."""

    CLASS_OF = words(256, "the class of each byte")
    COUNT = words(256, "number of bytes in each class; then the final number of the class")
    HITS = words(256, "how many of them are in the byte set")
    FRESH = words(256, "the new class of those")
    CLASSES = words(1, "number of classes")


class VISIT(Region):
    """A row of the queue of a liveness search."""

    STATE = words(1, "the expression")
    FROM = words(1, "where the row is that led to it, or -1")
    NEXT = words(1, "the next row of its rank, or -1")
    DONE = words(1, "1: its successors are in the queue")


class RANK(Region):
    """The rows of a liveness search whose states are equally far from acceptance."""

    FIRST = words(1, "the first row, or -1")
    LAST = words(1, "the last row")


class HEADED(Region):
    """A row of the alternatives of a lexer state."""

    HEAD = words(1, "the byte set that it begins with, or EPS")
    TAIL = words(1, "what follows")


class DIGITS(Region):
    """The expressions of digits, to which REMAINDER.DIGITS points."""

    SETS = words(11, "BYTES records: of the digits 0 to 9, and of the point")


class SPELLED(Region):
    """The expressions of ASCII characters in JSON, to which HEADER.SPELLED points."""

    CHARACTERS = words(128, "by ASCII character, the expression of its spellings inside a JSON string")
    QUOTE = words(1, "the expression of a quote")
    PLAIN = words(128, "by ASCII character, the expression of its plain spellings")


@kernel("void(arena, arena)", entry=True)
def init(A, H):
    """Lay out the header and the records at fixed places in a fresh arena; H must be zero."""
    for i in range(HEADER.WORDS):
        A[i] = 0
    A[HEADER.TOP] = HEADER.WORDS
    intern(A, H, EMPTY.KIND, 0)
    intern(A, H, EPSILON.KIND, 0)
    intern1(A, H, NOT.KIND, NONE)
    intern(A, H, TAGSET.KIND, 0)
    intern1(A, H, TAGSET.KIND, 0)
    A[HEADER.SEARCH_LIMIT] = 200_000


@accessor
def is_nullable(A, e):
    """Not 0 if the empty text is in e."""
    return A[e + EXPRESSION.FLAGS] & NULLABLE


@accessor
def is_negative(A, e):
    """Not 0 if e contains AND or NOT."""
    return A[e + EXPRESSION.FLAGS] & NEGATIVE


@accessor
def continues(A, e):
    """Not 0 if a byte can follow in e: a lexer state is more than tags."""
    return A[e + EXPRESSION.FLAGS] & CONTINUES


@accessor
def literal_character(A, e):
    """The next character of a LITERAL."""
    return np.int64(A[A[e + LITERAL.CHARACTERS] + TEXT.CHARACTERS + A[e + LITERAL.AT]])


@accessor
def has_byte(A, e, b):
    """1 if byte b is in a BYTES record."""
    return (A[e + BYTES.SET + (b >> 5)] >> (b & 31)) & 1


@accessor
def set_word(A, e, w):
    """Word w of the set of a BYTES record."""
    return A[e + BYTES.SET + w]


@accessor
def remainder_set(A, e, digit):
    """The byte set of a digit of a REMAINDER, or of the point (10)."""
    return np.int64(A[A[e + REMAINDER.DIGITS] + digit])


@accessor
def class_of(A, partition, b):
    """The class of a byte."""
    return (A[partition + PARTITION.CLASS_OF + (b >> 2)] >> ((b & 3) << 3)) & 255


@accessor
def representative(A, partition, number):
    """The least byte of a class."""
    return np.int64(A[A[partition + PARTITION.REPRESENTATIVES] + number])


@accessor
def successor_cell(A, e, b):
    """The index of the successor of e by byte b, once e has a row."""
    return A[e + EXPRESSION.ROW] + class_of(A, A[e + EXPRESSION.PARTITION], b)


@accessor
def spelled_character(A, character):
    """The expression of an ASCII character inside a JSON string; character: its number, + SPELLED.PLAIN where it is to
    be spelled plainly."""
    return np.int64(A[A[HEADER.SPELLED] + SPELLED.CHARACTERS + character])


@accessor
def spelled_quote(A):
    """The expression of a quote around a JSON string."""
    return np.int64(A[A[HEADER.SPELLED] + SPELLED.QUOTE])
