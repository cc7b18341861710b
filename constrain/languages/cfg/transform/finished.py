"""The check of a finished text whose parts have checks of their own (`Nonterminal.check`).

The idea: an Earley parser over the whole text (chart.py). A nonterminal with a check is completed over a span only if
the span passes the check. So a text passes exactly if *some* derivation of it passes everywhere, however ambiguous the
grammar is.
"""

from __future__ import annotations

from collections.abc import Mapping

from constrain.languages.automata.syntax import Ranges, Tokens
from constrain.languages.cfg.rules import Grammar
from constrain.languages.cfg.transform.chart import TextChart


def check_finished(grammar: Grammar, text: str | bytes, spans: Mapping[Tokens, Ranges] | None = None) -> str | None:
    """None if some derivation of the text passes all checks, else one sentence that says why not.

    text: As bytes it is UTF-8, with marks (automata/marks.py) of tokens that are no text. spans: the ids of the sets
    of tokens.
    """
    assert grammar.lexer == "dynamic" and not grammar.ignore
    chart = TextChart(text.encode() if isinstance(text, str) else text, spans or {})
    if chart.derives(grammar.start):
        return None
    return chart.fault or "the text is not a member"
