"""Writes the keywords of a Lark grammar in one case: `"select"i` is `select` or `SELECT`, never `SeLECT`.

The idea: a string under the flag `i` stands for two texts instead of all 2^n. That alone makes the language smaller,
if every segmentation into lexemes counts. Under `lexer="greedy"` a keyword in another case would become a name, where
names overlap keywords; so all other terminals lose the keywords' refused spellings. Whole words (grammar_text/words.py)
see to it that what was refused falls not apart into shorter lexemes.

Limits: a string inside of a terminal with look-around, a lazy quantifier or `~` keeps all cases. Under "greedy" a name
that spells a keyword in a refused case has to be quoted, also where that keyword cannot stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lark import Token

from constrain.languages.automata import syntax
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.readers.lark_terminals import Place, literal_node
from constrain.languages.cfg.rules import KeywordCase, LookaroundContext
from constrain.languages.cfg.transform.analysis import empty_node


def one_case(tokens: Iterable[Token], case: KeywordCase, place: Place) -> tuple[dict[str, Node], Node]:
    """(language of each string under the flag `i`, by the string as it is written; the spellings that are refused)."""
    nodes: dict[str, Node] = {}
    refused = []
    for token in tokens:
        text = str(token.value)
        if case == "any" or token.type != "STRING" or not text.endswith("i") or text in nodes:
            continue
        whole = literal_node(token, place)
        written = literal_node(Token.new_borrow_pos("STRING", text[:-1], token), place)
        assert isinstance(written, syntax.Literals)
        (plain,) = written.texts
        cases = [plain.lower()] * (case != "upper") + [plain.upper()] * (case != "lower")
        if not plain.isascii():  # the upper case of ß is two letters
            cases = [each for each in cases if not empty_node(syntax.intersect(whole, syntax.literal(each)))]
        nodes[text] = syntax.literals(cases) if cases else whole
        refused.append(syntax.difference(whole, nodes[text]))
    return nodes, syntax.alternate(*refused)


def without(
    node: Node, contexts: Sequence[LookaroundContext], refused: Node
) -> tuple[Node, tuple[LookaroundContext, ...]]:
    """The language and contexts of a terminal without the refused spellings, if it has any of them."""
    if refused == syntax.EMPTY or empty_node(syntax.intersect(node, refused)):
        return node, tuple(contexts)
    rest = syntax.difference(node, refused)
    return rest, tuple(each._replace(node=syntax.difference(each.node, refused)) for each in contexts)
