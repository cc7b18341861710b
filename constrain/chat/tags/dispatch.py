"""Free text in which triggers call for constrained contents, and lists of tags.

    constrain.tags.dispatch([("<n>", numbers), ("<w>", words)])     # after each trigger its contents
    constrain.tags.triggered_tags(["<call="], [weather, search])    # after the trigger, the rest of a tag with it
    constrain.tags.separated([weather, search], ", ")               # tags alone, with a text between them

The idea: text → piece* free; piece → (free text that ends with its first trigger) contents. All of it is a grammar like
any other (cfg/free_text.py), so masks are exact inside of tags and around them.

Repeated keys and items of a schema are vetoed token by token where the text tells where each tag begins and ends, which
is decided from the languages of the contents (`_regions`); else the finished text is checked. Cost: that of the
contents, and of one automaton for the free text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations

from constrain.chat.tags.free import checked_texts
from constrain.chat.tags.tag import Tag
from constrain.errors import ConstrainError, LimitError
from constrain.languages.automata.decide import is_empty
from constrain.languages.automata.marks import without_marks
from constrain.languages.automata.shape import common_start
from constrain.languages.automata.syntax import Ranges, Tokens, concat, intersect, literals
from constrain.languages.cfg.ebnf import Expression
from constrain.languages.cfg.ebnf import Sequence as Concatenation
from constrain.languages.cfg.free_text import dispatched, going_on
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import Combined, Piece, alt, many, seq, shown_call
from constrain.languages.guards import Guard, pieces
from constrain.languages.schema import JsonSchema
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily

Rule = tuple[str, Constraint]
_DECODER = json.JSONDecoder()
_NUMBER = "0123456789+-.eE \t\n\r"
MANY = 8  # tags whose beginnings are a list; of more, they are a tree


@dataclass(frozen=True, repr=False)
class Tagged(Combined):
    """Free text with tags, or a list of tags.

    Attributes:
        tags: The tags that stand in it, if all are known; their beginnings are found in the text.
    """

    tags: tuple[Tag, ...] = field(kw_only=True, default=())

    @lazily
    def _regions(self) -> list[Tag] | None:
        """The tags, if the text tells where each begins and ends; None if not, or if none has a guard."""
        return list(self.tags) if any(tag.content.guarded for tag in self.tags) and _are_apart(self.tags) else None

    @property
    def inlined(self) -> bool:
        return self._regions is None

    @lazily
    def guarded(self) -> bool:
        """True if tags have guards and the text tells where they stand."""
        return self._regions is not None or self.outlined

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """The guard that follows the text into the tags."""
        if self._regions is None:
            return super().guard(vocabulary) if self.outlined else None
        read = []
        for tag in self._regions:
            stop, *others = (str(end).encode() for end in tag.ends)
            read.append(
                pieces.GuardedPiece(str(tag.begin).encode(), tag.content.guard(vocabulary), stop, tuple(others), True)
            )
        return pieces.GuardedPieces(read, vocabulary)

    def residual_fault(self, text: str) -> str | None:
        """None if the contents of all tags pass their checks, else one sentence."""
        if self._regions is None:
            return super().residual_fault(text)
        at = 0
        while found := [(place, tag) for tag in self._regions if (place := text.find(str(tag.begin), at)) >= 0]:
            place, tag = min(found, key=lambda pair: pair[0])
            begin = place + len(str(tag.begin))
            if isinstance(tag.content, JsonSchema):
                _, at = _DECODER.raw_decode(text, begin + len(text[begin:]) - len(text[begin:].lstrip()))
                fault = tag.content.residual_fault(text[begin:at])
                if fault is not None:
                    return f"after {tag.begin!r}: {fault}"
            else:
                at = min(end for one in tag.ends if (end := text.find(str(one), begin)) >= 0)
        return None

    def residual_fault_marked(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> str | None:
        """`residual_fault` for a text with marks of tokens: they do not matter where all tags are texts."""
        if self._regions is None:
            return super().residual_fault_marked(text, spans)
        return self.residual_fault(without_marks(text).decode())


def _are_apart(tags: Sequence[Tag]) -> bool:
    """True if the text tells where each of the tags begins and ends."""
    begins = [tag.begin.encode() for tag in tags if isinstance(tag.begin, str)]
    return len(begins) == len(tags) and pieces.are_apart(begins) and all(map(_ends_are_known, tags))


def _ends_are_known(tag: Tag) -> bool:
    """True if the text of a tag tells where it ends, as guards/pieces.py reads it."""
    ends = [end for end in tag.ends if isinstance(end, str)]
    if len(ends) < len(tag.ends) or not all(ends) or any(two.startswith(one) for one, two in permutations(ends, 2)):
        return False
    if isinstance(tag.content, JsonSchema):  # a value ends where its brackets do; a number where a stop begins
        return all(end[0] not in _NUMBER for end in ends)
    node = tag.content.node
    if node is None or tag.content.guarded:
        return False
    try:
        return is_empty(intersect(concat(node, literals(ends)), going_on(ends)))
    except LimitError:
        return False


def dispatch(rules: Iterable[Rule], *, loop: bool = True, excludes: Iterable[str] = ()) -> Constraint:
    """Free text in which contents follow every trigger.

    Args:
        rules: Pairs (trigger, contents).
        loop: Whether free text goes on after contents; if not, the first ones end the text.
        excludes: Texts that do not occur in free text, triggers included.

    Returns:
        A constraint.

    Raises:
        ConstrainError: There is no trigger, one is empty or cannot occur, two are equal, or one lies within another and
            would always come first.
        GrammarError: Contents count tokens.

    Example:
        >>> import constrain
        >>> text = constrain.tags.dispatch([("#", constrain.regex("[0-9]+"))])
        >>> matcher = constrain.compile(text, constrain.Vocabulary.of_bytes()).matcher()
        >>> matcher.advance_bytes(b"numbers #1 and #"), matcher.is_accepting()
        (True, False)
    """
    given = [(trigger, contents) for trigger, contents in rules]
    expression = _dispatched(given, loop, checked_texts(excludes, "an excluded text"))
    return Tagged(expression, partial(shown_call, "dispatch", (given,)))


def triggered_tags(
    triggers: Iterable[str],
    tags: Iterable[Tag],
    *,
    at_least_one: bool = False,
    stop_after_first: bool = False,
    excludes: Iterable[str] = (),
) -> Constraint:
    """Free text in which every trigger begins one of its tags.

    Args:
        triggers: The texts that free text does not contain; each tag begins with one of them.
        tags: The tags.
        at_least_one: The text begins with a tag.
        stop_after_first: The text ends with its first tag.
        excludes: Texts that do not occur in free text.

    Returns:
        A constraint.

    Raises:
        ConstrainError: A tag begins with none of the triggers or with several, a trigger has no tag, there is none, or
            triggers are as `dispatch` refuses them.
        GrammarError: Contents count tokens.

    Example:
        >>> import constrain
        >>> call = constrain.tags.tag("<call=f>", constrain.regex("[0-9]+"), "</call>")
        >>> text = constrain.tags.triggered_tags(["<call="], [call])
        >>> matcher = constrain.compile(text, constrain.Vocabulary.of_bytes()).matcher()
        >>> matcher.advance_bytes(b"Let me see. <call="), matcher.forced_bytes()
        (True, b'f>')
    """
    listed = checked_texts(triggers, "a trigger")
    found = _checked_tags(tags)
    by_trigger: dict[str, list[Tag]] = {trigger: [] for trigger in listed}
    for tag in found:
        own = [trigger for trigger in listed if isinstance(tag.begin, str) and tag.begin.startswith(trigger)]
        if len(own) != 1:
            problem = f"more than one trigger, {', '.join(map(repr, own))}" if own else "none of the triggers"
            raise ConstrainError(f"the tag {tag.begin!r} begins with {problem}", fix="give each tag one trigger")
        by_trigger[own[0]].append(tag)
    for trigger, own_tags in by_trigger.items():
        if not own_tags:
            raise ConstrainError(f"no tag begins with the trigger {trigger!r}", fix="leave it out: use excludes=")
    rest = one_of if _are_apart(found) else _any_of
    rules = [(trigger, rest([tag.pieces for tag in own], trigger)) for trigger, own in by_trigger.items()]
    after = _dispatched(rules, not stop_after_first, checked_texts(excludes, "an excluded text"))
    first = _expression(alt(*found))
    if at_least_one:
        after = first if stop_after_first else Concatenation((first, after))
    return Tagged(after, partial(shown_call, "triggered_tags", (list(listed), list(found))), tags=found)


def _any_of(ways: Sequence[Sequence[Piece]], begun: str) -> Constraint:
    """One of some sequences, without the text with which they all begin."""
    return alt(*(seq(str(first).removeprefix(begun), *rest) for first, *rest in ways))


def one_of(ways: Sequence[Sequence[Piece]], begun: str) -> Constraint:
    """One of some sequences of pieces, of which each begins with a text, without the text with which they all begin.

    PERF: of many, those with the same next character are one part, which is made when a text has come to it.
    """
    if len(ways) <= MANY:
        return _any_of(ways, begun)
    groups: dict[str, list[Sequence[Piece]]] = {}
    for way in ways:
        groups.setdefault(str(way[0])[len(begun) : len(begun) + 1], []).append(way)
    parts = []
    for own in groups.values():
        common = common_start([str(first) for first, *_ in own])
        if len(own) == 1 or common == begun:
            parts.append(_any_of(own, begun))
        else:
            parts.append(seq(common.removeprefix(begun), one_of(own, common)))
    return alt(*parts)


def separated(
    tags: Iterable[Tag], separator: str = "", *, at_least_one: bool = False, stop_after_first: bool = False
) -> Constraint:
    """Tags one after another, with a text between two.

    Args:
        tags: The tags.
        separator: The text between two tags.
        at_least_one: There is a tag.
        stop_after_first: There is at most one.

    Returns:
        A constraint.

    Raises:
        ConstrainError: There is no tag, or the separator is no text.

    Example:
        >>> import constrain
        >>> number = constrain.tags.tag("<n>", constrain.regex("[0-9]+"), "</n>")
        >>> constrain.tags.separated([number], ", ")
        separated([tag('<n>', regex('[0-9]+'), '</n>')], ', ')
    """
    found = _checked_tags(tags)
    if not isinstance(separator, str):
        raise ConstrainError(f"a separator is a text, not {separator!r:.60}", fix='separator="\\n"')
    copies = many(alt(*found), separator=separator or None, low=int(at_least_one), high=1 if stop_after_first else None)
    safe = () if any(str(tag.begin)[:1] in separator for tag in found) else found
    return Tagged(_expression(copies), partial(shown_call, "separated", (list(found), separator)), tags=safe)


def _dispatched(rules: Sequence[Rule], loop: bool, excludes: tuple[str, ...]) -> Expression:
    """The expression of free text with contents after triggers."""
    triggers = [trigger for trigger, _ in rules]
    if not triggers:
        raise ConstrainError("there is no trigger", fix="use free_text(): nothing interrupts the text")
    checked_texts(triggers, "a trigger")
    return dispatched([(trigger, _expression(contents)) for trigger, contents in rules], loop, excludes)


def _expression(constraint: Constraint) -> Expression:
    whole = seq(constraint)
    assert isinstance(whole, Combined)
    return whole.expression


def _checked_tags(tags: Iterable[Tag]) -> tuple[Tag, ...]:
    found = tuple(tags)
    if not found:
        raise ConstrainError("there is no tag", fix="constrain.tags.tag(begin, content, end)")
    for one in found:
        if not isinstance(one, Tag):
            raise ConstrainError(f"not a tag: {one!r:.60}", fix="constrain.tags.tag(begin, content, end)")
    return found
