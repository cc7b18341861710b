"""The readers of grammar formats, as oracles for syntax: lark's own for Lark texts, this library's for GBNF."""

from __future__ import annotations

from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.languages.cfg.readers.gbnf import read_gbnf
from languages.oracles import of_text

BEYOND = ("is used but not defined", "is defined more than once", "bad range", "{m,n} needs m <= n")


@of_text
def lark(shown: str) -> bool:
    """Does lark's parser of grammar files take the text? Whether its symbols are defined is not asked."""
    from lark import UnexpectedInput
    from lark.load_grammar import _get_parser

    try:
        _get_parser().parse(shown + "\n", "start")  # as lark's loader calls it
    except UnexpectedInput:
        return False
    return True


@of_text
def gbnf(shown: str) -> bool | None:
    """None: a rule that is not defined, or twice, or bounds that are the wrong way round.

    A grammar without a root, or one that derives nothing, is a text of the format like others.
    """
    try:
        read_gbnf(shown)
    except UnsatisfiableError:
        return True
    except ConstrainError as error:
        if error.message.startswith("there is no rule"):
            return True
        return None if any(words in error.message for words in BEYOND) else False
    return True
