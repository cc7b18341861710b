"""`constrain.between`: fill in the middle, so that prefix + text + suffix is valid.

    middle = constrain.between(constraint, prefix="[1, ", suffix="]}")
    constrain.generate(model, prompt, constraint=middle)

The idea: the quotient of the language by both texts (quotient.py) is a constraint like any other. Masks are exact,
lexemes may run over both junctions, and the cost does not depend on the length of the texts.

The guard of the constraint (repeated keys and items) reads the prefix first, then vetoes as usual. Three conditions are
checked on the whole text before a result is returned: the deferred checks of a schema, repetitions in the suffix, and
maximal munch (`lexer="greedy"`). Under maximal munch masks allow a token if some segmentation into terminals allows it;
words stay whole if the constraint declares them (grammar_text/words.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from constrain.errors import ConstrainError
from constrain.languages.automata import quotient as regular
from constrain.languages.automata.syntax import Node
from constrain.languages.automata.unicode.intervals import has_lone_surrogate
from constrain.languages.cfg.rules import Grammar
from constrain.languages.cfg.transform.analysis import empty_node
from constrain.languages.constraints.base import Constraint, refuse_monitors, refuse_tokens
from constrain.languages.constraints.report import ReportLine
from constrain.lazily import later, lazily
from constrain.masks.derived.holes import Continuation, split_holes
from constrain.masks.derived.members import is_member
from constrain.masks.derived.quotient import left_quotient, right_quotient

if TYPE_CHECKING:
    from constrain import gaps
else:
    gaps = later("constrain.gaps")  # several holes, and layouts: loaded when a text has them


@dataclass(frozen=True)
class Between(Continuation):
    """The texts w such that prefix + w + suffix is in the language of `inner`. Made by `between`."""

    suffix: str  # type: ignore[misc]

    @lazily
    def node(self) -> Node | None:
        whole = self.inner.node
        if whole is None:
            return None
        return regular.right_quotient(regular.left_quotient(whole, self.prefix), self.suffix)

    def _build(self) -> Grammar:
        if self.node is not None and not empty_node(self.node):
            return super()._build()
        middle = self.inner.as_dynamic()  # also for an empty regular language: the errors below name the place
        if middle.closing:  # the rules depend on columns, and the engine reads no text of them backwards
            return self._watched(gaps.first_gap(middle, self.prefix, [self.suffix]))
        middle = left_quotient(middle, self.prefix) if self.prefix else middle
        middle = right_quotient(middle, self.suffix) if self.suffix else middle
        return self._watched(middle)

    @lazily
    def _is_greedy(self) -> bool:
        return self.inner.node is None and self.inner.to_grammar().lexer == "greedy"

    @lazily
    def residual(self) -> bool:
        return self.inner.residual or self.inner.guarded or self._is_greedy

    def residual_fault(self, text: str) -> str | None:
        whole = self.prefix + text + self.suffix
        if self._is_greedy and not is_member(self.inner, whole):
            return "with the prefix and the suffix around it, the longest terminals do not make a member"
        return self.inner.residual_fault(whole)

    @property
    def report(self) -> list[Any]:
        """The entries of the inner constraint, and the checks of the whole text."""
        entries = list(self.inner.report)
        if self._is_greedy:
            entries.append(ReportLine("(lexer)", "$", "residual", "longest terminals are checked on the whole text"))
        if self.inner.guarded:
            entries.append(
                ReportLine("(guard)", "$", "residual", "what the suffix repeats is checked on the whole text")
            )
        return entries

    @lazily
    def valued(self) -> bool:
        return self.inner.valued

    def parse(self, text: str) -> Any:
        """The value of the whole text, where the inner constraint gives one."""
        return self.inner.parse(self.prefix + text + self.suffix) if self.valued else text

    def __repr__(self) -> str:
        return f"between({self.inner!r}, prefix={_shown(self.prefix)}, suffix={_shown(self.suffix)})"


def between(
    constraint: Constraint,
    *,
    prefix: str = "",
    suffix: str = "",
    text: str | None = None,
    holes: Sequence[tuple[int, int]] = (),
) -> Constraint:
    """The texts w such that prefix + w + suffix is valid; or the texts that may stand in the first of several holes.

    Args:
        constraint: The constraint on the whole text.
        prefix: The text before. Default: none.
        suffix: The text after. Default: none.
        text: Instead of both, a whole text with holes. Default: none.
        holes: The stretches of `text` that are open, as (begin, end) in characters, in their order; an empty stretch is
            a hole too. The constraint is on the text of the first: some filling of the others makes all valid.

    With a layout of lines and columns, blocks begin at the columns of lines of the text, or one step deeper; `report`
    says which.

    Returns:
        A constraint on the middle; its `parse`, where there is one and one hole, gives the value of the whole text.

    Raises:
        UnsatisfiableError: No member begins with the prefix, ends with the suffix, or fits between both; with the place
            where reading fails. With several holes: the stretch that no filling completes.
        LimitError: A number under `multipleOf` would have to be cut; with several holes, the grammar is too large.
        ConstrainError: An argument has the wrong type, or holes overlap.

    Source:
        Quotients of context-free languages: Hopcroft and Ullman, "Introduction to Automata Theory, Languages, and
        Computation" (1979), section 6.2. Derivatives: Brzozowski (JACM 1964). Several holes: Bar-Hillel, Perles and
        Shamir, "On formal properties of simple phrase structure grammars" (1961).

    Example:
        >>> import constrain
        >>> word = constrain.between(constrain.choices(["unhappy", "unfair", "happy"]), prefix="un")
        >>> matcher = constrain.compile(word, constrain.Vocabulary.of_bytes()).matcher()
        >>> [chr(byte) for byte in range(256) if matcher.allows(byte)]
        ['f', 'h']
        >>> first = constrain.between(constrain.regex("(ab|cd)-(ab|cd)"), text="?b-??", holes=[(0, 1), (3, 5)])
        >>> matcher = constrain.compile(first, constrain.Vocabulary.of_bytes()).matcher()
        >>> [chr(byte) for byte in range(256) if matcher.allows(byte)]
        ['a']
    """
    if not isinstance(constraint, Constraint):
        raise ConstrainError(
            f"between() takes a constraint, not {type(constraint).__name__}",
            fix="wrap it: constrain.json_schema(...), .regex(...), .grammar(...) or .choices([...])",
        )
    for name, value in (("prefix", prefix), ("suffix", suffix)):
        if not isinstance(value, str):
            raise ConstrainError(f"{name} is a str, not {type(value).__name__}: {value!r:.60}", fix="decode it")
        if has_lone_surrogate(value):
            raise ConstrainError(f"{name} has a lone surrogate: {value!r:.60}", fix="it is not text: remove it")
    if text is not None or not isinstance(holes, Sequence) or holes:
        if prefix or suffix or text is None:
            raise ConstrainError("between() takes prefix and suffix, or text and holes", fix="leave one pair out")
        prefix, *after = split_holes(text, holes)
        if len(after) > 1:
            refuse_tokens(constraint, "cannot be cut")
            refuse_monitors(constraint, "cannot have several holes")
            constraint = constraint.laid_out_like([prefix, *after])
            first: Constraint = gaps.FirstHole(constraint, prefix, tuple(after))
            first.to_grammar()
            return first
        [suffix] = after
    if not prefix and not suffix:
        return constraint
    refuse_tokens(constraint, "cannot be cut")
    middle = Between(constraint.laid_out_like([prefix, suffix]), prefix, suffix)
    middle.to_grammar()  # raise errors here, not when it is compiled
    return middle


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 30 else repr(text[:30])[:-1] + "...'"
