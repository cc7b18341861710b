"""Ignored text that a lexeme cannot follow: under maximal munch, a comment to the end of its line goes on to the end.

    unfinished = Unfinished(ignored, lexemes)
    unfinished.alone       # `// a`: any character that a lexeme begins with would be a part of it
    unfinished.continued   # `// a` and a line break: only other ignored text goes on behind it
    unfinished.last        # what may end a text

The dynamic lexer may end such a comment anywhere, and read what is left of its line as lexemes. No text is read so by
the greedy lexer. So in ignored text each comment is followed by ignored text that it does not take in, or by the end.

The idea: all of this is a regular language, since what is ignored is a run of ignored lexemes. So it costs no states of
the rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from constrain.languages.automata import syntax
from constrain.languages.automata.quotient import right_quotient
from constrain.languages.automata.shape import first_characters
from constrain.languages.automata.syntax import Node
from constrain.languages.automata.unicode import intervals
from constrain.languages.cfg.transform.analysis import empty_node
from constrain.languages.cfg.transform.contexts import character_classes, representatives


class Unfinished:
    """Ignored texts by what may follow them.

    Args:
        ignored: The languages of ignored terminals.
        lexemes: The languages of all other terminals.
    """

    def __init__(self, ignored: Iterable[Node], lexemes: Iterable[Node]) -> None:
        self.ignored, self.lexemes = syntax.alternate(*ignored), syntax.alternate(*lexemes)
        self._others = syntax.complement(self.ignored)

    @cached_property
    def alone(self) -> Node:
        """The ignored texts that any character which a lexeme begins with makes longer."""
        begins = first_characters(self.lexemes)
        stopped = [self._stopped_by(one) for one in representatives(self._both, begins)]
        return syntax.difference(self.ignored, syntax.alternate(*stopped))

    @cached_property
    def continued(self) -> Node:
        """Some texts of `alone` with ignored text behind them that they do not take in, and that is not such a text."""
        return self._then(syntax.difference(self.ignored, self.alone))

    @cached_property
    def last(self) -> Node:
        """The texts of `alone`, perhaps some behind each other: they may end a text."""
        return syntax.alternate(self.alone, self._then(self.alone))

    def _then(self, node: Node) -> Node:
        """Texts of `alone` that do not take in what follows them, the last one followed by a text of a language."""
        chain = syntax.repeat(self._behind(self._stopping))
        return syntax.concat(self._stopping, chain, self._behind(node))

    @cached_property
    def _both(self) -> Node:
        return syntax.alternate(self.ignored, self.lexemes)

    def stops(self, begins: syntax.Ranges) -> syntax.Ranges:
        """The characters among these that some text of `alone` does not take in."""
        found: syntax.Ranges = ()
        for ranges in character_classes(self.ignored):
            for common in filter(None, [intervals.common(ranges, begins)]):
                if not empty_node(syntax.intersect(self.alone, self._stopped_by(chr(common[0][0])))):
                    found = intervals.union(found, common)
        return found

    @cached_property
    def _stops(self) -> syntax.Ranges:
        """The first characters of ignored texts that some text of `alone` does not take in."""
        return self.stops(first_characters(self.ignored))

    @cached_property
    def _stopping(self) -> Node:
        """The texts of `alone` that do not take in all of these."""
        stopped = (self._stopped_by(one) for one in representatives(self.ignored, self._stops))
        return syntax.intersect(self.alone, syntax.alternate(*stopped))

    def _behind(self, node: Node) -> Node:
        """The texts of a language that such a character begins."""
        begun = syntax.concat(syntax.chars(self._stops), syntax.repeat(syntax.ANY_CHAR))
        return syntax.intersect(node, begun)

    def _stopped_by(self, character: str) -> Node:
        """The texts that a character does not make an ignored text, nor with any character behind it (as `\\` in C)."""
        stopped = right_quotient(self._others, character)
        if not empty_node(syntax.intersect(self._both, syntax.literal(character))):
            return stopped  # it may be a lexeme, the last of the text
        longer = (
            right_quotient(self._others, character + each) for each in representatives(self.ignored, intervals.ANY)
        )
        return syntax.intersect(stopped, syntax.alternate(*longer))


def ranges_of(node: Node) -> syntax.Ranges:
    """The characters of a set."""
    assert isinstance(node, syntax.Chars)
    return node.ranges
