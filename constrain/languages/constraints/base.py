"""`Constraint`: what a user asks for, as an immutable description that needs no tokenizer.

    constrain.regex(r"\\d{4}") | constrain.choices(["today", "tomorrow"])

The idea: a constraint gives a `Grammar` (`to_grammar`, made once), and, where its language is regular, a `Node`
(`node`), on which union and intersection are exact. Constraints are values: equal descriptions are equal and hash
alike, so that compiled forms can be cached by them; what a constraint asks of its parts, it asks once (`lazily`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from constrain.errors import ConstrainError, GrammarError, UnsatisfiableError
from constrain.languages.automata.marks import without_marks
from constrain.languages.automata.syntax import (
    ANY_CHAR,
    ANY_TEXT,
    Node,
    Ranges,
    Tokens,
    alternate,
    repeat,
    shown_tokens,
)
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.cfg.transform.analysis import empty_node
from constrain.languages.constraints.report import checked_later
from constrain.lazily import lazily
from constrain.limits import Limits, limits_at, within_stack

if TYPE_CHECKING:
    from constrain.languages.cfg.followed import FollowedRule
    from constrain.languages.cfg.transform.captures import Capture
    from constrain.languages.constraints.intersection import Intersection
    from constrain.languages.constraints.refusal import Refusal
    from constrain.languages.constraints.union import Union
    from constrain.languages.guards import Guard
    from constrain.languages.vocab.vocabulary import Vocabulary

_SHOWN = 60  # characters of a description in messages
# The engine decides membership; it comes after this wing, and is imported when somebody asks.
_MEMBERS, _REFUSAL = "constrain.masks.derived.members", "constrain.masks.derived.refusal"


class Constraint:
    """Base class of everything that can be compiled: a language, described without a tokenizer.

    Make one with `constrain.regex`, `choices`, `json_schema`, `grammar`, `substring` or a combinator, and combine them
    with `|` (union) and `&` (intersection). Subclasses are frozen dataclasses and override `_build` or `node`.

    Attributes:
        composite: Whether the nonterminals of its grammar carry the checks of its parts (`Composite`).
        stops: The stop sequences that may end its texts (`masks/derived/stopping.py`).

    Example:
        >>> import constrain
        >>> constrain.regex("[0-9]{4}") | constrain.choices(["today"])
        regex('[0-9]{4}') | choices(['today'])
    """

    composite: ClassVar[bool] = False
    stops: tuple[str, ...] = ()

    def to_grammar(self) -> Grammar:
        """Return the grammar of this constraint, made at the first call.

        Raises:
            UnsatisfiableError: No text is a member.
            GrammarError: No grammar can express the constraint.
            LimitError: A limit is reached; its place is the innermost part that was read.
        """
        with limits_at(self._shown):
            return self._grammar

    def validate(self, limits: Limits | None = None) -> None:
        """Read all of the constraint: compiling it finds no fault then. No vocabulary is needed.

        Constructors read what they are given, so for an unknown text do both under one limit:
        `with constrain.Limits(seconds=0.5): constrain.grammar(text).validate()`.

        Args:
            limits: Time and memory that it may take, and a way to cancel it; by default 2 s of CPU time and 1 GB.

        Raises:
            ConstrainError: The constraint is faulty, or no text is a member (SchemaError, GrammarError, RegexError,
                UnsatisfiableError).
            LimitError: A limit is reached, or it is nested too deeply.

        Example:
            >>> import constrain
            >>> constrain.regex("a+").validate(constrain.Limits(seconds=0.5))
        """
        if limits is not None and not isinstance(limits, Limits):
            raise ConstrainError(f"limits={limits!r:.60} is no Limits", fix="limits=Limits(seconds=1.0)")
        with within_stack("the constraint"), (limits or Limits()).reading("the constraint"):
            self.to_grammar()

    @lazily
    def _grammar(self) -> Grammar:
        return self._build()

    def _build(self) -> Grammar:
        if self.node is None:
            raise NotImplementedError(f"{type(self).__name__} must override node or _build")
        if empty_node(self.node):
            raise UnsatisfiableError(f"no text fulfils {self._shown()}", fix="relax one of its parts")
        terminal = Terminal(self.node, self._shown())
        return Grammar(Nonterminal("start", lambda: [[terminal]], key=("regular", terminal), shared=True))

    def as_dynamic(self) -> Grammar:
        """A grammar for `lexer="dynamic"` that has all texts of this constraint. A greedy constraint may have fewer.

        One with a layout of lines and columns stays greedy, unless its columns are given.
        """
        grammar = self.to_grammar()
        return grammar if grammar.closing else replace(grammar, lexer="dynamic")

    def laid_out_like(self, texts: Sequence[str]) -> Constraint:
        """With a layout, the members whose blocks begin at columns as in some texts; else the constraint itself."""
        return self

    @property
    def made_of(self) -> tuple[Any, ...]:
        """The values on which its language depends: texts, numbers, other constraints."""
        described: Any = self
        return tuple(getattr(self, each.name) for each in fields(described) if each.compare)

    @property
    def ends_in_time(self) -> bool:
        """True if `generate` ends its texts within their limit of tokens by default."""
        return False

    @property
    def node(self) -> Node | None:
        """The syntax tree of the language if it is known to be regular, else None."""
        return None

    @property
    def report(self) -> list[Any]:
        """A `ReportLine` for each keyword or part that says how it is enforced; none if the grammar enforces all."""
        lines = [line for part in self.members for line in part.report]
        return lines if not lines or self.guarded else checked_later(lines)

    def likely_text(self, most: int) -> str:
        """The beginning of a member as a model would write it, about `most` characters; "" where none is known."""
        return ""

    def accepts(self, text: str | bytes) -> bool:
        """True if a text is in the language: complete, and all of its conditions hold. No vocabulary is needed.

        Cost: linear in the text for most grammars; the first call reads the constraint.

        Args:
            text: The text, or its UTF-8 bytes.

        Raises:
            ConstrainError: The constraint is faulty, or depends on tokens: a matcher decides about those.

        Example:
            >>> import constrain
            >>> ages = constrain.json_schema({"type": "array", "items": {"type": "integer"}, "uniqueItems": True})
            >>> ages.accepts("[1, 2]"), ages.accepts("[1, 2"), ages.accepts("[1, 1]")
            (True, False, False)
        """
        return bool(import_module(_MEMBERS).accepts(self, text))

    def explain(self, text: str | bytes) -> Refusal | None:
        """Say where a text leaves the language, why, and what could have followed.

        Args:
            text: The text, or its UTF-8 bytes.

        Returns:
            None if the text is in the language; else a `Refusal`: `message`, `byte`, `place`, `expected`, `because`
            and more. `str` gives it as lines for a person.

        Raises:
            ConstrainError: The constraint is faulty, or depends on tokens: a matcher decides about those.

        Example:
            >>> import constrain
            >>> print(constrain.regex("[0-9]{4}-[0-9]{2}").explain("2024/05"))
            '/' is not allowed here
              at line 1, column 5
                 2024/05
                     ^
              expected: `-`
        """
        found: Refusal | None = import_module(_REFUSAL).refusal(self, text)
        return found

    def parse(self, text: str) -> Any:
        """The value of a text of the language: itself, where a subclass says nothing else."""
        return text

    @property
    def valued(self) -> bool:
        """True if `parse` gives something else than the text."""
        return type(self).parse is not Constraint.parse

    def residual_fault(self, text: str) -> str | None:
        """The fault of a text that the grammar accepts, by conditions that the grammar cannot enforce; None: it has
        none. Of other texts it says nothing: `accepts` decides membership.
        """
        return None

    def residual_fault_marked(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> str | None:
        """`residual_fault` for a text with marks of tokens, whose sets are given (automata/marks.py)."""
        return self.residual_fault(without_marks(text).decode())

    @property
    def captured(self) -> bool:
        """True if rules of the constraint have captures (`captures`)."""
        return False

    def captures(self, text: str) -> list[Capture]:
        """The texts that the rules with a capture derive in a finished text, in the order in which they end.

        Of several ways to read the text, later parts are as short as possible.

        Args:
            text: A valid text.

        Returns:
            The captures; none if the constraint has none, or the text is not valid.

        Example:
            >>> import constrain
            >>> greeting = constrain.grammar('''
            ... start: "Hello " name "!"
            ... name[capture]: /[A-Za-z]+/
            ... ''')
            >>> greeting.captures("Hello Ada!")
            [Capture(name='name', text='Ada', begin=6, end=9)]
        """
        if not isinstance(text, str):
            raise ConstrainError(f"captures() takes a str, not {text!r:.60}")
        try:
            read = text.encode()
        except UnicodeEncodeError:  # a lone surrogate stands in no member
            return []
        return self.captures_marked(read, {})

    def captures_marked(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> list[Capture]:
        """`captures` of a text with marks of tokens, whose sets are given (automata/marks.py)."""
        if not self.captured:
            return []
        from constrain.languages.cfg.transform.captures import named

        return named(self.capture_spans(text, spans), text)

    def capture_spans(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> list[tuple[str, int, int]]:
        """(name, begin, end) of the captures in a text, in bytes."""
        return []

    @property
    def token_sets(self) -> tuple[Tokens, ...]:
        """The sets of tokens that the constraint mentions (`constrain.token`)."""
        return ()

    @property
    def counts_tokens(self) -> bool:
        """True if it depends on where one token ends and the next one begins: then it cannot be a part of another."""
        return False

    @property
    def counts_characters(self) -> bool:
        """True if a guard counts the characters of its texts, which its rules do not."""
        return False

    @property
    def members(self) -> tuple[Constraint, ...]:
        """The constraints that are parts of it."""
        return ()

    @lazily
    def outlined(self) -> bool:
        """True if its grammar is an outline: parts that are read apart are any text to it, and a guard knows them."""
        return any(part.read_apart for part in self.members)

    @property
    def monitored(self) -> bool:
        """True if a guard is asked where a text may end: that of a monitor, or of a lexer beside other rules."""
        return False

    @property
    def between_texts(self) -> bytes | None:
        """The text that its guard reads between two parts of it, which share their names then; None: they do not."""
        return None

    @lazily
    def read_apart(self) -> bool:
        """True if, as a part, it is read by an automaton and a guard of its own (`masks.engine.regions`)."""
        if self.outlined or self.monitored:
            return True
        return self.node is None and self.to_grammar().lexer == "greedy"

    def part_fault(self, text: str) -> str | None:
        """The fault of a text of a part that is read apart, asked of its own automaton; None: it is a member."""
        fault: str | None = import_module(_MEMBERS).fault_of(self, text)
        return fault

    @lazily
    def outline(self) -> Node:
        """A regular language that has all texts of it; for rules that it is a part of, where it is read apart."""
        mentioned = self.token_sets
        return repeat(alternate(ANY_CHAR, *mentioned), 0, None) if mentioned else ANY_TEXT

    @property
    def followed(self) -> tuple[FollowedRule, ...]:
        """The rules whose tokens matter: those with a budget of tokens or with a temperature."""
        return ()

    @property
    def bracketed(self) -> Grammar | None:
        """The grammar with marks around the texts of `followed` rules; None if there are none."""
        return None

    @property
    def residual(self) -> bool:
        """True if a finished text counts only if it passes `residual_fault`."""
        return False

    @property
    def guarded(self) -> bool:
        """True if there is a `guard`. Where the guard cannot be used, `residual_fault` covers its conditions too."""
        return False

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """The guard that vetoes tokens inside watched nonterminals (`Nonterminal.watched`); None if there is none."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        """The fields of the description for pickle; everything else is computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)} if is_dataclass(self) else vars(self)

    def _unite(self, other: Constraint) -> Constraint:
        """Hook for `|`: the union as one constraint, or NotImplemented. Called on both sides in turn."""
        return NotImplemented

    def _intersect(self, other: Constraint) -> Constraint:
        """Hook for `&`: the intersection as one constraint, or NotImplemented. Called on both sides in turn."""
        return NotImplemented

    def _shown(self) -> str:
        try:
            text = repr(self)
        except RecursionError:  # parts of parts; what is wrong with them is said elsewhere
            text = f"{type(self).__name__}(...)"
        return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."

    def __or__(self, other: Constraint) -> Constraint:
        from constrain.languages.constraints.union import Union

        return _joined(self, other, Union, "_unite") if isinstance(other, Constraint) else NotImplemented

    def __and__(self, other: Constraint) -> Constraint:
        from constrain.languages.constraints.intersection import Intersection

        return _joined(self, other, Intersection, "_intersect") if isinstance(other, Constraint) else NotImplemented


def _joined(self: Constraint, other: Constraint, kind: type[Union] | type[Intersection], hook: str) -> Constraint:
    with within_stack("the constraint"):
        for part in (self, other):
            refuse_counts(part)
        for one, two in ((self, other), (other, self)):
            joined: Constraint = getattr(one, hook)(two)
            if joined is not NotImplemented:
                return joined
        parts = {**_parts(self, kind), **_parts(other, kind)}
        whole = kind(tuple(parts))
        vars(whole)["distinct"] = parts
        return whole


def constraint_of(given: Any) -> Constraint | None:
    """The constraint that a value is, or was compiled from; None: it has none, or is of another make."""
    inner = given if isinstance(given, Constraint) else getattr(given, "constraint", None)
    return inner if isinstance(inner, Constraint) else None


def tempered_rule(compiled: Any) -> FollowedRule | None:
    """The first rule of a compiled constraint that asks for a temperature; None: none does."""
    constraint = constraint_of(compiled)
    if constraint is None or not constraint.followed:
        return None
    return next((rule for rule in constraint.followed if rule.temperature is not None), None)


def refuse_tempered(compiled: Any, who: str) -> None:
    """Raise ConstrainError if rules ask for a temperature. who: what cannot draw by it."""
    rule = tempered_rule(compiled)
    if rule is not None:
        raise ConstrainError(
            f"{who} draws at one temperature, and a rule of the grammar asks for another one",
            place=rule.place,
            fix="leave temperature= out of the grammar, or use constrain.generate",
        )


def refuse_counts(constraint: Constraint) -> None:
    """Raise GrammarError if a constraint counts tokens."""
    if constraint.followed:
        raise GrammarError(
            f"{constraint._shown()} has a rule with max_tokens or a temperature and stands alone: "
            "it cannot be a part of another constraint",
            place=constraint.followed[0].place,
            fix="write the other parts into the grammar, or leave the options out",
        )
    if constraint.counts_tokens:
        raise GrammarError(
            f"{constraint._shown()} has a budget of tokens and stands alone: it cannot be a part of another constraint",
            fix="put the other parts into the answer after the thoughts, or leave max_tokens= out",
        )


def refuse_tokens(constraint: Constraint, what: str) -> None:
    """Raise GrammarError if a constraint mentions tokens. what: what is not possible then, like "cannot be cut"."""
    refuse_counts(constraint)
    for node in constraint.token_sets:
        raise GrammarError(
            f"{constraint._shown()} mentions the token {shown_tokens(node)} and {what}: that is defined for texts",
            fix="apply it to the parts that are texts",
        )


def refuse_monitors(constraint: Constraint, what: str) -> None:
    """Raise GrammarError if a grammar alone does not say which texts a constraint has. what: what is not possible."""
    if constraint.outlined or constraint.monitored or constraint.counts_characters:
        raise GrammarError(
            f"{constraint._shown()} {what}: its monitors, parts with lexers of their own, or bounds of characters read "
            "texts from their beginnings to their ends",
            fix="apply it to the other parts",
        )


def _parts(constraint: Constraint, kind: type[Union] | type[Intersection]) -> dict[Constraint, None]:
    """The parts of a constraint of a kind, without repetition; of another one itself."""
    return constraint.distinct if isinstance(constraint, kind) else {constraint: None}
