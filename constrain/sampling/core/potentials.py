"""Potentials: user code as a constraint, or as a soft weight, beside the mask.

A potential gives a log weight to a text: Φ(x) to a complete one, ψ(x) to a prefix. The target becomes

    π(x) ∝ p(x) · 1[x ∈ L] · exp Φ(x).

`prefix` says what is known before the end: it steers (a twist, Naesseth et al. 2019, section 3.1) and cancels in the
end, so it changes how well a sampler does, never what it samples. One rule binds it: where `prefix` is -inf, `complete`
is -inf for every text that begins so. It may be left out (0: nothing is known yet).

    class Shout(Potential):                          # soft: prefers capitals
        def complete(self, text: bytes) -> float:
            return 0.5 * sum(map(str.isupper, text.decode()))

    predicate(is_valid_sql)                          # hard: a black box over complete texts
    predicate(is_polite, on="prefix")                # once false, false for good
    automaton(compiled) * predicate(f)               # products: of the second, only what the first allows is asked

Potentials see bytes, since a prefix may end inside a character; `predicate` passes whole characters as str.
Cost: one call a text (`AskedPotential` keeps the answers); `prefixes` and `completes` take many at once: override them
where that is cheaper. Limit: a potential must be a function: the same text, the same answer.
"""

from __future__ import annotations

import codecs
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from constrain.errors import ConstrainError
from constrain.lazily import Remembered
from constrain.sampling.core.job import Compiled

REMEMBERED = 1 << 16  # answers that `AskedPotential` keeps
Weigher = Callable[[Sequence[bytes]], list[float]]


class Potential:
    """Log weights of texts: override `complete`, and `prefix` where something is known early.

    Example:
        >>> from constrain.sampling import Potential
        >>> class Short(Potential):
        ...     def complete(self, text: bytes) -> float:
        ...         return -0.1 * len(text)
        >>> Short().completes([b"ab", b""])
        [-0.2, -0.0]
    """

    @property
    def steers(self) -> bool:
        """True if a potential says something of prefixes, so that it is worth asking."""
        kind = type(self)
        return kind.prefix is not Potential.prefix or kind.prefixes is not Potential.prefixes

    def prefix(self, text: bytes) -> float:
        """log ψ of a text that goes on; -inf: nothing that begins so has weight."""
        return 0.0

    def complete(self, text: bytes) -> float:
        """log Φ of a complete text."""
        raise NotImplementedError(f"{type(self).__name__} does not say what a complete text weighs")

    def prefixes(self, texts: Sequence[bytes]) -> list[float]:
        """`prefix` of each text."""
        return [self.prefix(text) for text in texts]

    def completes(self, texts: Sequence[bytes]) -> list[float]:
        """`complete` of each text."""
        return [self.complete(text) for text in texts]

    def __mul__(self, other: Potential) -> Potential:
        """The potential whose weights are the products; put the cheaper factor first."""
        return PotentialProduct([self, other]) if isinstance(other, Potential) else NotImplemented


class PotentialProduct(Potential):
    """Factors in order: a text that one rules out is not shown to the next."""

    def __init__(self, factors: Sequence[Potential]) -> None:
        self.factors: list[Potential] = [
            each for f in factors for each in (f.factors if isinstance(f, PotentialProduct) else [f])
        ]

    @property
    def steers(self) -> bool:
        return any(factor.steers for factor in self.factors)

    def prefix(self, text: bytes) -> float:
        return self.prefixes([text])[0]

    def complete(self, text: bytes) -> float:
        return self.completes([text])[0]

    def prefixes(self, texts: Sequence[bytes]) -> list[float]:
        return self._sum([factor.prefixes for factor in self.factors if factor.steers], texts)

    def completes(self, texts: Sequence[bytes]) -> list[float]:
        return self._sum([factor.completes for factor in self.factors], texts)

    @staticmethod
    def _sum(functions: Sequence[Weigher], texts: Sequence[bytes]) -> list[float]:
        sums = [0.0] * len(texts)
        left = list(range(len(texts)))
        for function in functions:
            for i, value in zip(left, function([texts[i] for i in left]) if left else [], strict=True):
                sums[i] += value
            left = [i for i in left if sums[i] != -math.inf]
        return sums

    def __repr__(self) -> str:
        return " * ".join(map(repr, self.factors))


class Predicate(Potential):
    """A condition on texts, made by `predicate`."""

    def __init__(self, holds: Callable[[Any], bool], on: str, as_text: bool) -> None:
        self.holds, self.on, self.as_text = holds, on, as_text

    @property
    def steers(self) -> bool:
        return self.on == "prefix"

    def prefix(self, text: bytes) -> float:
        return self._weight(text, final=False) if self.steers else 0.0

    def complete(self, text: bytes) -> float:
        return self._weight(text, final=True)

    def _weight(self, text: bytes, final: bool) -> float:
        shown: Any = text
        if self.as_text:  # a character that is cut off at the end is not shown yet
            shown = codecs.getincrementaldecoder("utf-8")("replace").decode(text, final)
        return 0.0 if self.holds(shown) else -math.inf

    def __repr__(self) -> str:
        return f"predicate({getattr(self.holds, '__name__', self.holds)!s})"


def predicate(holds: Callable[[Any], bool], *, on: str = "complete", as_text: bool = True) -> Potential:
    """A black-box yes or no as a potential: weight 1 or 0.

    Args:
        holds: text → bool; the text is a str, or bytes if not `as_text`.
        on: "complete" asks about complete texts only; "prefix" asks about every prefix too, and once the answer is no
            it must be no for every longer text.
        as_text: pass whole characters as str; a character that is cut off at the end of a prefix is not shown.

    Returns:
        The potential, for `SMC`, `SIR`, `MCMC` and `AWRS`.

    Raises:
        ConstrainError: `holds` is no function, or `on` is no such name.

    Example:
        >>> from constrain.sampling import predicate
        >>> predicate(str.isupper).completes([b"A", b"a"])
        [0.0, -inf]
    """
    if not callable(holds):
        raise ConstrainError(f"predicate() takes a function from text to bool, not {type(holds).__name__}")
    if on not in ("complete", "prefix"):
        raise ConstrainError(f'on must be "complete" or "prefix", not {on!r}')
    return Predicate(holds, on, as_text)


class Automaton(Potential):
    """A second constraint on texts, made by `automaton`."""

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled
        self._matchers: Remembered[bytes, Any] = Remembered(REMEMBERED)

    def prefix(self, text: bytes) -> float:
        return -math.inf if self._at(text) is None else 0.0

    def complete(self, text: bytes) -> float:
        matcher = self._at(text)
        return 0.0 if matcher is not None and matcher.is_accepting() else -math.inf

    def _at(self, text: bytes) -> Any:
        """A matcher after the text, None if it is dead; read on from the longest text met before."""
        if text in self._matchers:
            return self._matchers[text]
        known = next((i for i in range(len(text) - 1, -1, -1) if text[:i] in self._matchers), 0)
        base = self._matchers[text[:known]] if text[:known] in self._matchers else self.compiled.matcher()
        matcher = None if base is None else base.fork()
        if matcher is not None and known < len(text) and not matcher.advance_bytes(text[known:]):
            matcher = None
        return self._matchers.keep(text, matcher)

    def __repr__(self) -> str:
        return f"automaton({self.compiled!r})"


def automaton(compiled: Any) -> Potential:
    """A compiled constraint as a potential: weight 1 for members and what may become one, else 0.

    Args:
        compiled: of `constrain.compile`.

    Returns:
        The potential.

    Raises:
        ConstrainError: not a compiled constraint.

    Example:
        >>> import constrain
        >>> from constrain.sampling import automaton
        >>> vocabulary = constrain.Vocabulary([b"a", b"b", None], eos_ids=[2])
        >>> potential = automaton(constrain.compile(constrain.regex("a+b"), vocabulary))
        >>> potential.prefixes([b"aa", b"ba"]), potential.complete(b"ab")
        ([0.0, -inf], 0.0)
    """
    if not isinstance(compiled, Compiled):
        raise ConstrainError(
            f"automaton() takes a compiled constraint, not {type(compiled).__name__}",
            fix="constrain.compile(constraint, vocabulary)",
        )
    return Automaton(compiled)


class AskedPotential:
    """A potential in use: answers are checked, remembered and counted.

    evaluations: by row of the job, how many texts the potential was really called for; a text that several rows ask
      about counts for the first
    hard: every answer must be 0 or -inf
    """

    def __init__(self, potential: Potential, hard: bool = False) -> None:
        if not isinstance(potential, Potential):
            raise ConstrainError(
                f"a potential is an instance of constrain.sampling.Potential, not {type(potential).__name__}",
                fix="wrap a function: constrain.sampling.predicate(function)",
            )
        self.potential = potential
        self.hard = hard
        self.evaluations: Counter[int] = Counter()
        self._known: Remembered[tuple[str, bytes], float] = Remembered(REMEMBERED)

    def prefixes(self, texts: Sequence[bytes], rows: Sequence[int]) -> list[float]:
        """log ψ of each text; 0 without a call where the potential does not steer.

        Raises ConstrainError: the potential failed, or gave what is no log weight.
        """
        if not self.potential.steers:
            return [0.0] * len(texts)
        return self._ask("prefix", self.potential.prefixes, texts, rows)

    def completes(self, texts: Sequence[bytes], rows: Sequence[int]) -> list[float]:
        """log Φ of each text; see `prefixes`."""
        return self._ask("complete text", self.potential.completes, texts, rows)

    def _ask(self, kind: str, function: Weigher, texts: Sequence[bytes], rows: Sequence[int]) -> list[float]:
        answers = {text: self._known[kind, text] for text in texts if (kind, text) in self._known}
        fresh: dict[bytes, int] = {}
        for text, row in zip(texts, rows, strict=True):
            if text not in answers:
                fresh.setdefault(text, row)
        if fresh:
            values = self._call(kind, function, list(fresh))
            for (text, row), value in zip(fresh.items(), values, strict=True):
                answers[text] = self._known.keep((kind, text), self._checked(kind, text, value))
                self.evaluations[row] += 1
        return [answers[text] for text in texts]

    def _call(self, kind: str, function: Weigher, texts: list[bytes]) -> list[float]:
        try:
            values = list(function(texts))
        except ConstrainError:
            raise
        except Exception as error:
            raise ConstrainError(
                f"the potential {self.potential!r} failed: {type(error).__name__}: {error}",
                place=_place(kind, texts),
                fix="catch the exception in the potential, and say what such a text weighs",
            ) from error
        if len(values) != len(texts):
            raise ConstrainError(f"the potential {self.potential!r} gave {len(values)} weights for {len(texts)} texts")
        return values

    def _checked(self, kind: str, text: bytes, value: Any) -> float:
        try:
            weight = float(value)
        except (TypeError, ValueError):
            weight = math.nan
        if not weight < math.inf:
            raise ConstrainError(
                f"the potential {self.potential!r} gave {value!r}, which is no log weight",
                place=_place(kind, [text]),
                fix="return a finite float, or -inf to rule the text out",
            )
        if self.hard and weight not in (0.0, -math.inf):
            raise ConstrainError(
                f"the check {self.potential!r} gave {value!r}; a check says 0 (valid) or -inf",
                place=_place(kind, [text]),
                fix="pass it as potential=, which takes soft weights",
            )
        return weight


def _place(kind: str, texts: Sequence[bytes]) -> str:
    first = texts[0].decode("utf-8", "replace")
    shown = first if len(first) <= 100 else "…" + first[-100:]
    return f"{kind} {shown!r}" + (f" or one of {len(texts) - 1} others" if len(texts) > 1 else "")
