"""Rules that are followed while a text is written: those with a budget of tokens, or with a temperature.

    thought[max_tokens=50, temperature=0.7]: /[^\\n]*/

The idea: a grammar says nothing about tokens, so it cannot count them. A second grammar has a mark where the text of
such a rule begins and another one where it ends; marks stand in no text (automata/marks.py). Whoever reads a text with
the second grammar may read a mark wherever one is possible, and so knows in which rules the text may be
(engine/regions).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from constrain.errors import GrammarError
from constrain.languages.automata.marks import MOST
from constrain.languages.automata.shape import nullable
from constrain.languages.automata.syntax import Alternate, Chars, Concat, Literals, Node, Repeat, Tokens
from constrain.languages.cfg.ebnf import Expression, Leaf, Sequence
from constrain.languages.cfg.rules import Terminal
from constrain.languages.cfg.transform.fold import reachable, references, to_node, with_loops

LARGEST = 1_000_000  # weight of a body that becomes one regular language


@dataclass(frozen=True)
class FollowedRule:
    """A rule with options on the tokens of its texts: a budget, a temperature.

    Attributes:
        max_tokens: The greatest number of tokens that have a byte of the text; None: no bound.
        temperature: The temperature at which they are drawn; None: that of the whole text.
        place: Where the options are written.
        body: The language of the rule, where it has a budget.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    place: str | None = None
    body: Node | None = None


def checked(rules: Mapping[str, Expression], followed: Mapping[str, FollowedRule]) -> dict[str, FollowedRule]:
    """The rules with the languages of their bodies.

    Raises:
        GrammarError: A rule contains itself, has a budget and is not regular, or has a budget inside of another one.
    """
    with_bodies: dict[str, FollowedRule] = {}
    for name, rule in followed.items():
        inner = reachable(rules, name)
        if any(name in reachable(rules, other) for other in references(rules[name])):
            message = f"rule {name} contains itself, so its texts have no one beginning"
            raise GrammarError(message, place=rule.place, fix="give the option to a rule that uses it")
        if rule.max_tokens is not None:
            body = to_node(with_loops(rules), name, limit=LARGEST)
            if body is None:
                message = "max_tokens needs a rule of strings, regexes and terminals: its end must be near anywhere"
                raise GrammarError(message, place=rule.place, fix="give it to the parts that are texts")
            nested = [one for one in inner if one != name and one in followed and followed[one].max_tokens is not None]
            if nested:
                message = f"rule {name} has max_tokens, and so has {nested[0]} inside of it"
                raise GrammarError(message, place=rule.place, fix="keep one of the two")
            rule = replace(rule, body=body)
        with_bodies[name] = rule
    return with_bodies


def bracket(index: int, opens: bool) -> tuple[Tokens, int]:
    """The mark where the texts of a followed rule begin, or end: a set of tokens, and the id that it stands for.

    The ids are the last ones that have marks. No vocabulary is so large.
    """
    token = MOST - 1 - 2 * index - opens
    return Tokens(((token, token),), False), token


def bracketed(rules: Mapping[str, Expression], followed: Mapping[str, FollowedRule]) -> dict[str, Expression]:
    """The rules with marks around the texts of followed ones."""
    marked = dict(rules)
    for index, name in enumerate(followed):
        first, last = (Leaf(Terminal(bracket(index, opens)[0], f"mark of {name}")) for opens in (True, False))
        marked[name] = Sequence((first, rules[name], last))
    return marked


def most_to_end(node: Node) -> tuple[float, float]:
    """Upper bounds in bytes, from the syntax tree: (a shortest text, a shortest end of a text that was begun).

    The second holds wherever at least one character was read, and the last one is complete. math.inf: not known.
    """
    if isinstance(node, Chars):
        return len(chr(node.ranges[0][0]).encode()) if node.ranges else math.inf, 0
    if isinstance(node, Literals):
        lengths = [len(text.encode()) for text in node.texts]
        return min(lengths, default=math.inf), max(max(lengths, default=0) - 1, 0)
    if isinstance(node, Alternate):
        bounds = [most_to_end(part) for part in node.args]
        return min(least for least, _ in bounds), max(rest for _, rest in bounds)
    if isinstance(node, Repeat):
        least, rest = most_to_end(node.node)
        again = node.low - 1 if node.low > 1 else 0
        return (0 if not node.low else node.low * least), rest + (again * least if again else 0)
    if isinstance(node, Concat):
        bounds = [most_to_end(part) for part in node.args]
        after = 0.0
        most = 0.0
        for least, rest in reversed(bounds):
            most = max(most, rest + after)
            after += least
        return after, most
    return (0 if nullable(node) else math.inf), math.inf
