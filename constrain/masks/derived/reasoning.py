"""An answer after thoughts: free text up to a text or a token, then a constraint; the thoughts within a budget.

    constrain.after("</think>", answer)
    constrain.after("</think>", answer, begin="<think>", optional=True, max_tokens=1024)
    constrain.after(constrain.token("<|end_of_thought|>"), answer)

The idea: the first close ends the thoughts, so the text tells where the answer begins. So the answer's guard (repeated
keys and items) vetoes token by token, and its check reads the answer alone. The budget is a guard too
(guards/thoughts.py): it counts tokens, and lets them only spell the close when it is spent. So it holds under drafts,
forks and rollback, for every method of sampling, and with `complete=`.

Cost: a search for the close for each token of the thoughts, if they have a budget or the answer a guard. Limit: a
budget counts tokens, so such a constraint stands alone: it cannot be a part, be cut or be intersected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from constrain.errors import ConstrainError, VocabularyError
from constrain.languages.automata.marks import LENGTH, MARK, token_of, without_marks
from constrain.languages.automata.syntax import ANY_TEXT, Node, Ranges, Tokens, literal
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.cfg.ebnf import Leaf
from constrain.languages.cfg.free_text import up_to, without
from constrain.languages.cfg.rules import Grammar, Nonterminal, Symbol, Terminal
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import Combined, seq
from constrain.languages.constraints.parts import guard_apart
from constrain.languages.guards import Guard
from constrain.languages.guards.thoughts import Thoughts
from constrain.languages.vocab.marked import spans_of
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily
from constrain.masks.derived.members import byte_matcher
from constrain.masks.derived.triggered import start_of

Edge = str | Constraint  # a text, or a token


@dataclass(frozen=True)
class Reasoned(Constraint):
    """Thoughts, what ends them, and an answer. Made by `after`.

    Attributes:
        close: What ends the thoughts: a text, or a token.
        answer: The constraint on what follows.
        begin: What begins them; "": the text begins in them.
        optional: A text that does not begin with `begin` is an answer.
        most: The greatest number of tokens that begin in the thoughts; None: no bound.
    """

    close: Edge
    answer: Constraint
    begin: Edge = ""
    optional: bool = False
    most: int | None = None

    def _build(self) -> Grammar:
        answer = start_of(self.answer, self.outlined)
        if isinstance(self.close, str):
            thoughts: list[Symbol] = [Terminal(up_to(self.close, [self.close]), f"thoughts up to {self.close!r}")]
        else:
            thoughts = [Terminal(self._free, "thoughts"), _terminal(self.close)]
        with_thoughts = [*([_terminal(self.begin)] if self.begin else []), *thoughts, answer]
        alternatives: list[list[Symbol]] = [with_thoughts, *([[answer]] if self.optional else [])]
        return Grammar(Nonterminal("start", lambda: alternatives), watched=self.most is not None or self.outlined)

    @property
    def members(self) -> tuple[Constraint, ...]:
        return (self.answer,)

    @property
    def _free(self) -> Node:
        """The thoughts before a token: they do not contain its name."""
        names = [name for name in _names(self.close) if isinstance(name, str)]
        return without(names) if names else ANY_TEXT

    @property
    def counts_tokens(self) -> bool:
        return self.most is not None

    @lazily
    def token_sets(self) -> tuple[Tokens, ...]:
        edges = [edge for edge in (self.begin, self.close) if isinstance(edge, Constraint)]
        return tuple(dict.fromkeys(node for part in (*edges, self.answer) for node in part.token_sets))

    @lazily
    def residual(self) -> bool:
        return self.answer.residual

    @lazily
    def guarded(self) -> bool:
        return self.most is not None or self.answer.guarded or self.outlined

    def guard(self, vocabulary: Vocabulary) -> Guard | None:
        """The guard that counts the tokens of the thoughts, and is then that of the answer."""
        if self.most is None and self.outlined:
            return guard_apart(self, vocabulary)
        inner = guard_apart(seq(self.answer), vocabulary) if self.outlined else self.answer.guard(vocabulary)
        if self.most is None and inner is None:
            return None
        return Thoughts(
            _edge_for_guard(self.begin, vocabulary),
            _edge_for_guard(self.close, vocabulary),
            self.most,
            inner,
            vocabulary,
        )

    def residual_fault(self, text: str) -> str | None:
        answer = self.answer_of(text)
        return self.answer.part_fault(answer) if self.outlined else self.answer.residual_fault(answer)

    def residual_fault_marked(self, text: bytes, spans: Mapping[Tokens, Ranges]) -> str | None:
        at = 0
        if not self.optional or _edge_span(text, self.begin, spans)[0] == 0:
            at = _edge_span(text, self.close, spans)[1]
        if self.answer.token_sets:
            return self.answer.residual_fault_marked(text[at:], spans)
        return self.answer.residual_fault(without_marks(text[at:]).decode())

    def answer_of(self, text: str) -> str:
        """The answer in a text; tokens stand in it by their names."""
        begins = [str(name) for name in _names(self.begin)]
        if self.optional and not any(text.startswith(begin) for begin in begins):
            return text
        found = [text.find(str(name)) + len(str(name)) for name in _names(self.close) if str(name) in text]
        return text[min(found, default=0) :]

    def parse(self, text: str) -> Any:
        """The value of the answer."""
        return self.answer.parse(self.answer_of(text))

    def __repr__(self) -> str:
        options = {"begin": self.begin, "optional": self.optional, "max_tokens": self.most}
        shown = "".join(f", {name}={value!r}" for name, value in options.items() if value not in ("", False, None))
        return f"after({self.close!r}, {self.answer!r}{shown})"


def after(
    trigger: str | Constraint,
    constraint: Constraint,
    *,
    begin: str | Constraint = "",
    optional: bool = False,
    max_tokens: int | None = None,
) -> Constraint:
    """Free text up to the first `trigger`, then a text of a constraint: an answer after thoughts.

    Args:
        trigger: The text after which the constraint applies, such as "</think>", or a token (`constrain.token`).
        constraint: The constraint on the text after the trigger, up to the end.
        begin: What the thoughts begin with, such as "<think>", or a token. Default: nothing, as where the prompt ends
            with it.
        optional: A text that does not begin with `begin` is an answer without thoughts.
        max_tokens: The greatest number of tokens of the thoughts. When they are used up, the trigger follows. Tokens
            that begin in `begin` or in the trigger do not count. Default: no bound.

    Returns:
        A constraint whose `parse` gives the value of the constrained text.

    Raises:
        ConstrainError: The trigger is empty, an argument has the wrong type, `max_tokens` is negative, or thoughts are
            optional and the text would not tell whether there are any.
        GrammarError: The constraint counts tokens.

    Example:
        >>> import constrain
        >>> answer = constrain.after("</think>", constrain.choices(["yes", "no"]), max_tokens=4)
        >>> answer.parse("<think>well...</think>yes")
        'yes'
        >>> matcher = constrain.compile(answer, constrain.Vocabulary.of_bytes()).matcher()
        >>> matcher.advance_tokens(b"well..."), matcher.advance_tokens(b"</think>yes")
        (4, 11)
    """
    for name, edge in (("trigger", trigger), ("beginning", begin)):
        if isinstance(edge, str) and has_lone_surrogate(edge):
            raise ConstrainError(f"the {name} of thoughts is a text, not {edge!r:.60}", fix="pass a str")
        if not isinstance(edge, str) and not _names(edge):
            raise ConstrainError(
                f"the {name} of thoughts is a text or a token, not {edge!r:.60}", fix='"</think>" or token("</think>")'
            )
    if not isinstance(optional, bool):
        raise ConstrainError(f"optional is True or False, not {optional!r:.60}", place="optional")
    if trigger == "":
        raise ConstrainError("a trigger is empty: the piece would begin anywhere", fix="name the text that begins it")
    if not isinstance(constraint, Constraint):
        raise ConstrainError(
            f"the constraint after thoughts is {type(constraint).__name__}",
            fix="wrap it: constrain.json_schema(...), .regex(...), .grammar(...) or .choices([...])",
        )
    if max_tokens is not None and (isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 0):
        raise ConstrainError(f"max_tokens is a number of tokens, not {max_tokens!r}", fix="max_tokens=None is no bound")
    if optional:
        _check_optional(begin, constraint)
    made = Reasoned(trigger, constraint, begin, optional, max_tokens)
    made.to_grammar().start.expand()  # raise errors here, not when it is compiled
    return made


def _check_optional(begin: Edge, answer: Constraint) -> None:
    """Raise ConstrainError if the text does not tell whether it has thoughts."""
    if begin == "":
        raise ConstrainError(
            "thoughts that may be absent need what begins them: the text would not tell whether it has any",
            fix='begin="<think>"',
        )
    if isinstance(begin, str) and not answer.token_sets and byte_matcher(answer).advance_bytes(begin.encode()):
        raise ConstrainError(
            f"the answer may begin with {begin!r} too, so the text would not tell whether it has thoughts",
            fix="exclude it from the answer, as in constrain.tags.free_text([...])",
        )


def _names(edge: Edge) -> tuple[str | int, ...]:
    """The texts, names and ids of which one is the edge; () if it is neither a text nor a token."""
    if isinstance(edge, str):
        return (edge,)
    node = edge.expression.terminal.node if isinstance(edge, Combined) and isinstance(edge.expression, Leaf) else None
    if not isinstance(node, Tokens) or node.negated:
        return ()
    return tuple(
        name for one in node.members for name in ([one] if isinstance(one, str) else range(one[0], one[1] + 1))
    )


def _terminal(edge: Edge) -> Terminal:
    """A symbol for a text or a token."""
    if isinstance(edge, str):
        return Terminal(literal(edge), repr(edge), literal=True)
    assert isinstance(edge, Combined) and isinstance(edge.expression, Leaf)
    return edge.expression.terminal


def _edge_for_guard(edge: Edge, vocabulary: Vocabulary) -> bytes | frozenset[int]:
    """An edge as the guard reads it. Raises VocabularyError for a token that could be read as text too."""
    if isinstance(edge, str):
        return edge.encode()
    ids = frozenset(token for node in edge.token_sets for low, high in spans_of(node, vocabulary)
                    for token in range(low, high + 1))  # fmt: skip
    named = {vocabulary.names.get(name) for name in _names(edge) if isinstance(name, str)}
    for token in ids - named:
        if vocabulary.tokens[token]:
            raise VocabularyError(
                f"token {token} is the text {vocabulary.tokens[token]!r} too, which thoughts may contain",
                place=repr(edge),
                fix="name the token instead of its id, or give the text",
            )
    return ids


def _edge_span(text: bytes, edge: Edge, spans: Mapping[Tokens, Ranges]) -> tuple[int, int]:
    """The span of the first edge in a text with marks. A token with bytes stands in it as these."""
    names = [name.encode() for name in _names(edge) if isinstance(name, str)]
    edge_spans = [(at, at + len(name)) for name in names if (at := text.find(name)) >= 0]
    at = text.find(MARK) if isinstance(edge, Constraint) else -1
    while at >= 0 and isinstance(edge, Constraint):
        token = token_of(text[at : at + LENGTH])
        if any(low <= token <= high for node in edge.token_sets for low, high in spans[node]):
            edge_spans.append((at, at + LENGTH))
            break
        at = text.find(MARK, at + LENGTH)
    return min(edge_spans, default=(len(text), len(text)))
