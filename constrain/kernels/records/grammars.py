"""Records of grammars: terminals, nonterminals, and the symbols of their alternatives.

A nonterminal has no alternatives until a text reaches it: then the kernel raises `Unexpanded`, and the owner
(engine/automaton.py) gives it some.
"""

from constrain.kernels.compiler.accessors import accessor
from constrain.kernels.records.arena import kind, set_head
from constrain.kernels.records.schema import Record, Region, key, memo, word, words


class TERMINAL(Record, kind=12):
    """A terminal: the lexemes that it matches, its rank, and the grammar after it. Owner: engine/automaton.py."""

    EXPRESSION = key("what its lexemes are")
    EXCLUDED = key("TAGSET of terminals that a lexeme must not be as well, or 0")
    RANK = key("under the greedy lexer, terminals of the highest rank win")
    AFTER = key("the GRAMMAR that holds after it, or 0: no change")


class NONTERMINAL(Record, kind=13):
    """Each is its own: a nonterminal is not in the hash table. Owner: engine/automaton.py, parser/object_rules.py."""

    NUMBER = key("says whose it is")
    ALTERNATIVES = memo("region LIST of its alternatives, SUFFIX records; 0: ask the owner")
    RIGHT_RECURSIVE = memo("1 if its alternatives are added in its place where it is the last symbol")
    IS_WATCHED = memo("1 if the grammar's guard watches it")
    PREDICTS = memo("the PREDICTED region")
    KEY_SET = memo("the KEY_SET record that says its alternatives, if one does")


class SUFFIX(Record, kind=14):
    """A list of symbols that is still to come, so that alternatives with equal ends share it; 0 is the empty one."""

    SYMBOL = key("TERMINAL or NONTERMINAL")
    NEXT = key("the SUFFIX behind it, or 0")
    HOLDS_WATCHED = memo("1 if a watched symbol is in it; set when it is made")


class GRAMMAR(Record, kind=15):
    """The settings that hold for a whole text. Owner: engine/automaton.py."""

    NUMBER = key("number of its settings")
    IGNORED = memo("region LIST of the terminals that may stand between others")
    GREEDY = memo("1 under the greedy lexer")
    CLOSING = memo("1 + a byte: a text is a member if it is one with this byte at its end; 0: none")


class LIST(Region):
    """A list of records."""

    COUNT = word("how many")
    ITEMS = words(0, "the records")


@accessor
def list_start(region):
    """The index of the first item of a LIST."""
    return region + LIST.ITEMS


@accessor
def list_end(A, region):
    """The index behind the last item of a LIST."""
    return region + LIST.ITEMS + A[region + LIST.COUNT]


@accessor
def waits_for_nonterminal(A, suffix):
    """True if the first symbol of a SUFFIX is a nonterminal."""
    return kind(A, SUFFIX.SYMBOL(A, suffix)) == NONTERMINAL.KIND


@accessor
def new_nonterminal_head(A, r):
    """Make zero words a NONTERMINAL."""
    set_head(A, r, NONTERMINAL.KIND, 1)


@accessor
def new_suffix_head(A, r):
    """Make zero words a SUFFIX."""
    set_head(A, r, SUFFIX.KIND, 2)
