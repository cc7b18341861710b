"""The records of byte-pair merging. Each kind is an int32 array of its own."""

from constrain.kernels.records.schema import Region, column, word, words

NO_MERGE = -1  # there is no such merge; a free slot of the table that finds them
LEAF = -1  # TOKEN.LEFT of a symbol
UNMADE = -2  # TOKEN.LEFT of a token that merging does not make of its own text
NO_RANK = 0x7FFFFFFF  # greater than all ranks


class MERGE(Region):
    """A merge. The rows are in the order of their ranks."""

    LEFT = word("the token on its left")
    RIGHT = word("the token on its right")
    PRODUCT = word("the token that it makes")
    RANK = word("which comes first, the lowest")


class TOKEN(Region):
    """A token, by its id."""

    LEFT = word("the left part of its last merge, LEAF or UNMADE")
    RIGHT = word("the right part, or the same")
    TIME = word("the highest rank of the merges that make it, -1 for a symbol; at first the rank of the last one")
    UNTIL_LEFT = word("the highest rank after its left part is made, until it is")
    UNTIL_RIGHT = word("the same of its right part")
    ALONE = word("1 if merging makes it of its own text, and it has bytes")


class BORDERS(Region):
    """The automaton of a tokenizer's pieces, as far as it is known (languages/cuts/pieces.py)."""

    NEXT = column("by state and byte: the next state, 0: no text goes on so; -1: not known yet")
    ENDED = column("by state and byte: the borders that the byte settles, bit k: k bytes back")
    OPEN = column("by state: the places that are still open")
    FINISH = column("by state: the borders if the text ends there")


BEGINS = 2  # the token ends with the beginning of an added one


class TOKEN_TEXTS(Region):
    """The bytes of all tokens."""

    STARTS = column("by token: where its bytes begin; one more for the end")
    BYTES = column("the bytes of all tokens")
    UNKNOWN = column("by token: 1 if the tables do not say enough of it, BEGINS if they do not of what follows")


class TOKEN_TRIE(Region):
    """The tokens with bytes in the order of these, and their trie level by level: the children of a node are
    neighbours, in the order of their bytes. Node 0 is the root."""

    CHILDREN = column("by node: its first child, and behind it those of the next node; one more for the end")
    BYTE = column("by node: its byte")
    LOW = column("by node: the first of the tokens that begin with its text, those that are its text in front")
    HIGH = column("by node: the index behind the last of them")
    TOKENS = column("the tokens")


class QUESTION(Region):
    """The beginning of a question to a kernel that reads tokens."""

    EXPAND = word("a state of the pieces whose next states are not known; 0: none")


REFUSED, GOOD, UNSURE, MISSES = 0, 1, 2, 3  # a verdict on a token; MISSES: a table has to be made first
BORDER, INSIDE, OPEN = 1, 2, 3  # CUT.FRONT


class CUT(Region):
    """The place after some tokens: a state of the canonical tokens, as far as kernels know it."""

    PIECES = word("the state of the pieces")
    ENDS = word("the open places at which a token ends, bit k: k bytes back")
    OWED = word("the open places that have to become borders")
    LAST = word("the token before; -1 at a border")
    FRONT = word("the place in front of that token: BORDER, INSIDE a piece, or OPEN")


class STEP(Region):
    """A token of a text that must follow."""

    CUT = words(CUT.WORDS, "the place before it")
    TOKEN = word("the token")


class LEVEL(Region):
    """A place of the search for the cuts of a text, and the tokens that may come next there."""

    CUT = words(CUT.WORDS, "the place")
    AT = word("the bytes of the text before it")
    TOKENS = word("where on the stack the tokens within the rest of the text begin")
    LONGER = word("the next of the tokens that begin with the rest and are longer: an index of the order of all")
    HIGH = word("the index behind the last of these")


class FIRSTS(QUESTION):
    """A question about a text, and its answer: the tokens with which it may go on."""

    LENGTH = word("bytes of the text")
    IS_END = word("1 if nothing follows the text")
    WITHIN = word("how many tokens were found that are no longer than the text")
    BEYOND = word("how many that are longer")
    MOST = word("how many of these are enough")
    UNSURE = word("how many longer tokens were passed over since the tables do not say enough of them")
    TOP = word("the end of a stack of tokens, which stands behind the levels")
    STOP = word("of a run of tokens: where in its text the last one may begin")
    SIZE = word("of a run of tokens: the bytes of its text")
    TEXT = words(0, "the bytes of the text")
    LEVELS = words(0, "a LEVEL for each byte and two more, behind the text")
