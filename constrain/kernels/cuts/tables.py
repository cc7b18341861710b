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
    """A token, by its id; one more row for the ends of lists."""

    LEFT = word("the left part of its last merge, LEAF or UNMADE")
    RIGHT = word("the right part, or the same")
    TIME = word("the highest rank of the merges that make it, -1 for a symbol; at first the rank of the last one")
    UNTIL_LEFT = word("the highest rank after its left part is made, until it is")
    UNTIL_RIGHT = word("the same of its right part")
    BEGIN = word("the first of the positions of the tokens that have it on their left spine")
    SIZE = word("how many these are; it is the last of them")
    PARENTS = word("where its row begins in the list of tokens by their left parts, then by UNTIL_LEFT")
    RUNS = word("where its RUN rows begin")
    ALONE = word("1 if merging makes it of its own text, and it has bytes")


class RUN(Region):
    """The tokens that a merge forbids after its left side, by the left side and rank. PERF: read in one go."""

    RANK = word("its rank")
    GATE = word("it counts if the left side is there until a rank beyond this one")
    LOW = word("the first position; until that is known, what UNTIL_LEFT of a token has to reach")
    HIGH = word("the last position, that of its right side; until that is known, the right side")


class BORDERS(Region):
    """The automaton of a tokenizer's pieces, as far as it is known (languages/cuts/pieces.py)."""

    NEXT = column("by state and byte: the next state, 0: no text goes on so; -1: not known yet")
    ENDED = column("by state and byte: the borders that the byte settles, bit k: k bytes back")
    OPEN = column("by state: the places that are still open")
    FINISH = column("by state: the borders if the text ends there")


class AFTER_TOKENS(Region):
    """The bytes that may follow tokens. AFTER_TOKEN rows stand behind the columns."""

    CLASS = column("by token: its class")
    ROW = column("by token: where its AFTER_TOKEN row begins; 0: not made yet; ASK")
    TOKENS = word("number of tokens")
    STARTS = column("by token: where its bytes begin; one more for the end")
    BYTES = column("the bytes of all tokens")
    APART = word("by class: the bytes that follow it in no token, a bitmap of 8 words")
    STRICT = word("the same, where what follows may still put a border into the token")


class AFTER_TOKEN(Region):
    """The bytes that begin tokens which may not follow a token within a piece."""

    JOINING = words(8, "the bytes that begin some of them, a bitmap")
    CLOSED = words(8, "the bytes that begin nothing but them, a bitmap")


N_LIVE, N_ROWS = 32, 256  # words of AHEAD
REFUSED, GOOD, UNSURE, MISSES = 0, 1, 2, 3  # a verdict on a token; MISSES: a table has to be made first
BORDER, INSIDE, OPEN = 1, 2, 3  # CUT.FRONT
ASK = -1  # AFTER_TOKENS.ROW: the tables do not say enough


class CUT(Region):
    """The place after some tokens: a state of the canonical tokens, as far as kernels know it."""

    PIECES = word("the state of the pieces")
    ENDS = word("the open places at which a token ends, bit k: k bytes back")
    OWED = word("the open places that have to become borders")
    LAST = word("the token before; -1 at a border")
    FRONT = word("the place in front of that token: BORDER, INSIDE a piece, or OPEN")
    STRICT = word("1 if what follows may put a border into that token")
    TEXT = word("the configuration after the text; or a lexer state, negative, of a lexeme that goes on")


class LIVE(Region):
    """The bytes that may follow a configuration, or a lexer state."""

    OF = word("the configuration, or the lexer state, negative; 0: free")
    BITS = words(8, "the bytes, a bitmap")


class AHEAD(Region):
    """A question about some tokens, and its answer: after which of them a canonical completion is left."""

    COUNT = word("number of tokens, none of which joins the token before")
    GUARDED = word("1 if not all texts that the grammar accepts are valid")
    BEFORE = words(CUT.WORDS, "the place before the tokens")
    AFTER = words(CUT.WORDS, "the place after one of them")
    LATER = words(CUT.WORDS, "the place after one more")
    EXPAND = word("a state of the pieces whose next states are not known; 0: none")
    MISSING = word("how many AFTER_TOKEN rows are missing")
    ROWS = words(N_ROWS, "the tokens whose rows these are")
    LIVE = words(N_LIVE * LIVE.WORDS, "LIVE rows, by the last bits of OF")
    TOKENS = words(0, "the tokens, then the verdict on each")


class LEVEL(Region):
    """A place of the search for the cuts of a text, and the tokens that may come next there."""

    CUT = words(CUT.WORDS, "the place")
    AT = word("the bytes of the text before it")
    TOKENS = word("where on the stack the tokens within the rest of the text begin")
    LONGER = word("the next of the tokens that begin with the rest and are longer: an index of the order of all")
    HIGH = word("the index behind the last of these")


class FIRSTS(Region):
    """A question about a text, and its answer: the tokens with which it may go on. It stands behind an AHEAD."""

    AHEAD = words(AHEAD.WORDS, "of which EXPAND counts")
    LENGTH = word("bytes of the text")
    IS_END = word("1 if nothing follows the text")
    WITHIN = word("how many tokens were found that are no longer than the text")
    BEYOND = word("how many that are longer")
    TOP = word("the end of a stack of tokens, which stands behind the levels")
    TEXT = words(0, "the bytes of the text")
    LEVELS = words(0, "a LEVEL for each byte and two more, behind the text")
