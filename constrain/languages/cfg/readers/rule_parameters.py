"""Rules with a parameter in llguidance's Lark: `perm::set_bit(0)` and `%if bit_clear(0)`.

    start: perm::0x0
    perm::_: ""                      %if is_ones([0:2])
           | "a" perm::set_bit(0)    %if bit_clear(0)
           | "b" perm::set_bit(1)    %if bit_clear(1)

The idea: a parameter is a number of 64 bits, and a rule with one stands for a rule for each number that is reached from
the start (lark_reader.py makes them). So languages such as "each at most once" are ordinary rules. This module reads
expressions, which give the parameter of a used rule, and conditions of alternatives, as Python functions of the
parameter p; `p[x:y]` are its bits from x to y - 1, and `_` is all of it.

Source: https://github.com/guidance-ai/llguidance, its page on parametric grammars.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from functools import partial

from constrain.errors import GrammarError
from constrain.languages.automata.counts import read_count

Value = Callable[[int], int]
Condition = Callable[[int], bool]
Draw = Callable[[int, int], str]

BITS = 64
_ALL = (1 << BITS) - 1
_STEP = re.compile(r"\s*(0[xX][0-9a-fA-F]+|\d+|\w+|[()\[\],:])")
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_VALUES = "_, a number, set_bit, clear_bit, bit_and, bit_or, incr, decr"
_CONDITIONS = (
    "true, bit_clear, bit_set, is_ones, is_zeros, eq, ne, lt, le, gt, ge, bit_count_eq and its like, and, or, not"
)


def read_value(text: str, index: int, place: Draw) -> tuple[int, Value]:
    """(end, function) of the expression at an index."""
    reader = _Reader(text, index, place)
    value = reader.value()
    return reader.index, value


def read_condition(text: str, index: int, place: Draw) -> tuple[int, Condition]:
    """(end, function) of the condition at an index."""
    reader = _Reader(text, index, place)
    condition = reader.condition()
    return reader.index, condition


class _Reader:
    """Recursive descent; each method reads one construct at `index` and goes behind it."""

    def __init__(self, text: str, index: int, place: Draw) -> None:
        self.text, self.index, self.place = text, index, place

    def step(self, wanted: str = "") -> str:
        """The next name, number or sign; it must be the wanted one, if one is given."""
        found = _STEP.match(self.text, self.index)
        if found is None or (wanted and found[1] != wanted):
            fix = f"the functions are {_VALUES}; {_CONDITIONS}"
            raise self.fault(f"expected {wanted or 'a name or a number'}", fix)
        self.last = found.start(1)
        self.index = found.end()
        return found[1]

    def fault(self, message: str, fix: str, at: int | None = None) -> GrammarError:
        index = self.index if at is None else at
        return GrammarError(message, place=self.place(min(index, len(self.text) - 1), 1), fix=fix)

    def number(self, most: int) -> int:
        word = self.step()
        if not word[0].isdigit():
            raise self.fault(f"expected a number, not {word!r}", "write it in decimal, or as 0x...", self.last)
        number = int(word, 0) if word[:2] in ("0x", "0X") else read_count(word)
        if number > most:
            raise self.fault(f"{word} is too large", f"write a number up to {most}", self.last)
        return number

    def bits(self) -> tuple[int, int]:
        """(first bit, mask of as many bits) of `[x:y]` or `_`."""
        word = self.step()
        if word == "_":
            return 0, _ALL
        if word != "[":
            raise self.fault(f"expected bits, not {word!r}", "write [from:to], or _ for all of them", self.last)
        at = self.last
        low = self.number(BITS - 1)
        self.step(":")
        high = self.number(BITS)
        self.step("]")
        if high <= low:
            raise self.fault(f"[{low}:{high}] has no bits", "write the first bit, and the one behind the last", at)
        return low, (1 << (high - low)) - 1

    def value(self) -> Value:
        word = self.step()
        if word == "_":
            return lambda p: p
        if word[0].isdigit():
            self.index = self.last
            number = self.number(_ALL)
            return lambda p: number
        if word not in ("set_bit", "clear_bit", "bit_and", "bit_or", "incr", "decr"):
            raise self.fault(f"there is no expression {word!r}", f"there are {_VALUES}", self.last)
        self.step("(")
        if word in ("incr", "decr"):
            value = partial(_counted, *self.bits(), 1 if word == "incr" else -1)
        else:
            bits = 1 << self.number(BITS - 1) if word.endswith("bit") else self.number(_ALL)
            masks = {"set_bit": (bits, _ALL), "bit_or": (bits, _ALL), "clear_bit": (0, _ALL & ~bits)}
            value = partial(_masked, *masks.get(word, (0, bits)))
        self.step(")")
        return value

    def condition(self) -> Condition:
        word = self.step()
        if word == "true":
            if _STEP.match(self.text, self.index) and self.text[self.index :].lstrip().startswith("()"):
                self.step("(")
                self.step(")")
            return lambda p: True
        name = word.removeprefix("bit_count_")
        if name not in _COMPARE and word not in ("and", "or", "not", "bit_clear", "bit_set", "is_ones", "is_zeros"):
            raise self.fault(f"there is no condition {word!r}", f"there are {_CONDITIONS}", self.last)
        self.step("(")
        made: Condition
        if word in ("and", "or"):
            one = self.condition()
            self.step(",")
            two = self.condition()
            made = (lambda p: one(p) and two(p)) if word == "and" else (lambda p: one(p) or two(p))
        elif word == "not":
            inner = self.condition()
            made = lambda p: not inner(p)  # noqa: E731
        elif word in ("bit_clear", "bit_set"):
            made = partial(_compared, operator.eq, self.number(BITS - 1), 1, int(word == "bit_set"))
        elif word in ("is_ones", "is_zeros"):
            low, mask = self.bits()
            made = partial(_compared, operator.eq, low, mask, mask if word == "is_ones" else 0)
        else:
            low, mask = self.bits()
            self.step(",")
            compare = partial(_counted_bits, _COMPARE[name]) if word != name else _COMPARE[name]
            made = partial(_compared, compare, low, mask, self.number(BITS if word != name else _ALL))
        self.step(")")
        return made


def _masked(ones: int, kept: int, p: int) -> int:
    return (p | ones) & kept


def _counted(low: int, mask: int, by: int, p: int) -> int:
    """The number with some bits counted up or down, which stop at their ends."""
    bits = (p >> low) & mask
    return p if bits == (mask if by > 0 else 0) else p + by * (1 << low)


def _compared(compare: Callable[[int, int], bool], low: int, mask: int, value: int, p: int) -> bool:
    return compare((p >> low) & mask, value)


def _counted_bits(compare: Callable[[int, int], bool], bits: int, number: int) -> bool:
    return compare(bits.bit_count(), number)
