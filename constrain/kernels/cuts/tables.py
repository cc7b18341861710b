"""The records of byte-pair merging. Each kind is an int32 array of its own."""

from __future__ import annotations

from constrain.kernels.records.schema import Region, word

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
