"""Records of this wing's kernels. Each kind of table is an int32 array of its own."""

from constrain.kernels.cuts.tables import CUT, QUESTION, TOKEN_TEXTS
from constrain.kernels.records.schema import Region, column, word, words


class ARCS(Region):
    """Arcs along a canvas of tokens (papers/kernels/layers.py), each after all arcs to its source."""

    COUNT = word("number of arcs")
    POSITIONS = word("number of positions")
    SOURCE = column("by arc: the pair or position that it leads from")
    TARGET = column("by arc: the pair or position that it leads to")
    KIND = column("by arc: STAYS, ENDS, HOLDS or STARTS")
    LABEL = column("by arc: the terminal of a lexeme that ends, or -1")


class SPINE(Region):
    """A token and all tokens that have it on their left spine, by its id; one more row for the ends of lists."""

    BEGIN = word("the first of the positions of these tokens")
    SIZE = word("how many these are; it is the last of them")
    PARENTS = word("where its row begins in the list of tokens by their left parts, then by UNTIL_LEFT")
    RUNS = word("where its RUN rows begin")


class RUN(Region):
    """The tokens that a merge forbids after its left side, by the left side and rank. PERF: read in one go."""

    RANK = word("its rank")
    GATE = word("it counts if the left side is there until a rank beyond this one")
    LOW = word("the first position; until that is known, what UNTIL_LEFT of a token has to reach")
    HIGH = word("the last position, that of its right side; until that is known, the right side")


class FOLLOWED(TOKEN_TEXTS):
    """The bytes that may follow tokens. AFTER_TOKEN rows stand behind the columns."""

    TOKENS = word("number of tokens")
    CLASS = column("by token: its class")
    ROW = column("by token: where its AFTER_TOKEN row begins; 0: not made yet")
    APART = word("by class: the bytes that follow it in no token, a bitmap of 8 words")
    STRICT = word("the same, where what follows may still put a border into the token")


class AFTER_TOKEN(Region):
    """The bytes that begin tokens which may not follow a token within a piece."""

    JOINING = words(8, "the bytes that begin some of them, a bitmap")
    CLOSED = words(8, "the bytes that begin nothing but them, a bitmap")


class CUT_AHEAD(CUT):
    """The place after some tokens, for a look-ahead."""

    STRICT = word("1 if what follows may put a border into the token before; JOINED if one has to come behind it")
    TEXT = word("the configuration after the text; or a lexer state, negative, of a lexeme that goes on")


class LIVE(Region):
    """The bytes that may follow a configuration, or a lexer state."""

    OF = word("the configuration, or the lexer state, negative; 0: free")
    BITS = words(8, "the bytes, a bitmap")


N_LIVE, N_ROWS = 32, 256  # words of AHEAD


class AHEAD(QUESTION):
    """A question about some tokens, and its answer: after which of them a canonical completion is left."""

    COUNT = word("number of tokens, none of which joins the token before")
    GUARDED = word("1 if not all texts that the grammar accepts are valid")
    BEFORE = words(CUT_AHEAD.WORDS, "the place before the tokens")
    AFTER = words(CUT_AHEAD.WORDS, "the place after one of them")
    LATER = words(CUT_AHEAD.WORDS, "the place after one more")
    MISSING = word("how many AFTER_TOKEN rows are missing")
    ROWS = words(N_ROWS, "the tokens whose rows these are")
    LIVE = words(N_LIVE * LIVE.WORDS, "LIVE rows, by the last bits of OF")
    TOKENS = words(0, "the tokens, then the verdict on each")
