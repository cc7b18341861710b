"""Types of values as PostgreSQL's analyser sees them: what operators and functions take and give.

The idea: an expression has a set of *kinds*, to one of which its type belongs. Kinds are coarse (`int` is smallint,
integer and bigint), and a type that is not listed is "other", which every operator may take. An operator is refused if
it takes no pair of its operands' kinds. A text in quotes has the kinds that it can be read as, and the mark `'`: beside
a value of a kind it is read as that kind, if two of it can be operands.

Source: https://www.postgresql.org/docs/current/typeconv.html, functions.html (tables 9.1 to 9.32), and what
PostgreSQL 15 answers for each pair of types (tests/monitors/test_sql_types.py asks it).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from constrain.monitors.monitor import Names

Kinds = frozenset[str]
LITERAL = "'"  # marks the kinds of a text in quotes
NUMBERS = ("int", "num", "float")
KNOWN = frozenset({*NUMBERS, "text", "bool", "date", "time", "stamp", "interval"})
ANY = KNOWN | {"other"}
NONE: Kinds = frozenset()
BOOL, INT, TEXT = frozenset({"bool"}), frozenset({"int"}), frozenset({"text"})
NUMERALS = frozenset({"int", "num"})  # of a number in the text
CONSTANTS = {"true": BOOL, "false": BOOL, "not": BOOL, "exists": BOOL, "current_date": frozenset({"date"}),
             "current_time": frozenset({"time"}), "current_timestamp": frozenset({"stamp"})}  # fmt: skip
_DECLARED = {
    "int": "smallint int integer bigint int2 int4 int8 smallserial serial bigserial", "num": "numeric decimal dec",
    "float": "real float double float4 float8", "text": "text varchar char character", "bool": "boolean bool",
    "date": "date", "time": "time timetz", "stamp": "timestamp timestamptz", "interval": "interval",
}  # fmt: skip
_KIND = {word: kind for kind, words in _DECLARED.items() for word in words.split()}

# The precedence of operators, by their words and signs. Prefixes end with an underscore, signs that another sign may
# follow with a question mark: they are taken for both (`a = b < < 2`).
LEVEL = {
    ":=": -1, "or": 0, "and": 1, "not_": 2, "is": 3, "is from": 3, "like": 5, "glob": 5, "regexp": 5, "match": 5,
    "in": 5, "between": 5, "to": 5, "escape": 5, "||": 6, "->": 6, "->>": 6, "&": 6, "|": 6, "|?": 6, "<<": 6, ">>": 6,
    "+": 7, "-": 7, "*": 8, "/": 8, "%": 8, "exists_": 9, "+_": 9, "-_": 9, "~_": 9,
}  # fmt: skip
UNCERTAIN = {"|": "||", "<": "<<", ">": ">>"}
COMPARING = frozenset({"=", "==", "<>", "!", "!=", "<", ">", "<=", ">="})
LEVEL |= dict.fromkeys([*COMPARING, "<?", ">?"], 4)
ARITHMETIC = frozenset("+-*/%")
_LEADING = ("*", "%", "+", "-", "&", "||", "like", "=", "is", "and")  # they lead to all kinds that others lead to
_ALIKE = {**dict.fromkeys(NUMBERS, 0), "text": 1, "bool": 2, "date": 3, "stamp": 3, "time": 4, "interval": 4}
_DATES = """
date + int = date; int + date = date; date + time = stamp; time + date = stamp; date - int = date; date - date = int
date stamp - stamp = interval; stamp - date = interval; date stamp + - interval = stamp; interval + date stamp = stamp
time stamp + time = time stamp; time + stamp = stamp; stamp - time = stamp; date - time = stamp
time - time = interval time; time + - interval = time; interval + time = time
interval + - interval = interval; interval - time = interval
int num float * time interval = interval; time interval * / int num float = interval
"""
_DATE_RULES: dict[tuple[str, str, str], set[str]] = {}
for _rule in re.split("[;\n]+", _DATES.strip()):
    _operands, _results = _rule.split(" = ")
    _left, _signs, _right = re.fullmatch(r" *([a-z ]+?) ((?:[-+*/] )+)([a-z ]+)", _operands).groups()  # type: ignore[union-attr]
    for _key in ((a, sign, b) for a in _left.split() for sign in _signs.split() for b in _right.split()):
        _DATE_RULES.setdefault(_key, set()).update(_results.split())
_ASSIGNED = {"date": ("stamp",), "stamp": ("date",), "time": ("stamp", "interval"), "interval": ("time",)}

# Functions: the kinds of the first argument and of the result, then those of the other arguments. "same": the result
# is of the argument's kind. "other": other types have a function of that name.
_FUNCTIONS = """
sum: int > int num; num > num; float > float; time interval > interval; other > same
avg: int num > num; float > float; time interval > interval
stddev variance stddev_samp stddev_pop var_samp var_pop: int num > num; float > float
min max: int num float text date time stamp interval other > same
count: int num float text bool date time stamp interval > int
bool_and bool_or every: bool > bool
abs: int num float > same
ceil ceiling floor sign sqrt exp ln: int float > float; num > num
round: int float > float; int num > num, int; num > num
trunc: int float > float; int num > num, int; num > num; other > same
char_length character_length octet_length ascii: text > int
length: text > int; other > int float
initcap reverse md5: text > text
lower upper: text other > same
trim btrim ltrim rtrim: text other > same, text
substr: text other > same, int, int
replace translate: text > text, text, text
left right repeat: text > text, int
lpad rpad: text > text, int, text
strpos: text > int, text
starts_with: text > bool, text
date_part: text > float, date time stamp interval
date_trunc: text > stamp interval, date time stamp interval, text
"""
Overload = tuple[str, Kinds, tuple[Kinds, ...]]  # the kind of the first argument, kinds of the result, of the others
FUNCTIONS: dict[str, list[Overload]] = {}
for _line in _FUNCTIONS.strip().splitlines():
    _names, _rest = _line.split(": ")
    _overloads: list[Overload] = []
    for _one in _rest.split("; "):
        _first, *_others = _one.split(", ")
        _kinds, _given = (part.split() for part in _first.split(" > "))
        _more = tuple(frozenset(kinds.split()) for kinds in _others)
        _overloads += [(k, frozenset({k} if _given == ["same"] else _given), _more) for k in _kinds]
    FUNCTIONS |= dict.fromkeys(_names.split(), _overloads)


def kinds_of(declared: str) -> Kinds:
    """The kinds of a column, or a cast, of a declared type."""
    words = re.match(r"[a-z_0-9]*", declared.lower())
    kind = None if "[" in declared or " array" in declared.lower() else _KIND.get(words[0] if words else "")
    return frozenset({kind}) if kind else ANY


def result_kinds(function: str, argument: Kinds = ANY, more: bool = False) -> Kinds:
    """The kinds of a function's results for a first argument; none: it does not take it. more: others follow it."""
    if function == "count":
        return INT if argument - {"other"} or not more else NONE
    if function not in FUNCTIONS or argument == {"other"}:
        return ANY
    kinds = KNOWN if LITERAL in argument else ANY if "other" in argument else argument
    return NONE.union(*(given for kind, given, others in FUNCTIONS[function] if kind in kinds and (others or not more)))


def argument_kinds(function: str, index: int) -> Kinds:
    """The kinds that an argument behind the first one may be of."""
    others = [others[index - 1] for _, _, others in FUNCTIONS.get(function, ()) if len(others) >= index]
    return NONE.union(["other"], *others) if others else ANY


@lru_cache(maxsize=1 << 16)
def applied(operator: str, left: Kinds, right: Kinds) -> Kinds:
    """The kinds that an operator gives; none: it does not take the operands. Of a prefix the left one is ignored."""
    if operator[-1] == "?":
        return applied(operator[0], left, right) | applied(UNCERTAIN[operator[0]], left, right)
    if operator[-1] == "_":
        return NONE.union(*(_prefixed(operator, kind) for kind in right - {LITERAL}))
    if operator in ("is", "glob", "regexp", "match"):  # `'a' is null != b`: no operand is read as the other's kind
        return BOOL
    found: set[str] = set()
    for a in left - {LITERAL}:
        for b in right - {LITERAL}:
            if a != b and "other" not in (a, b):
                read = (a if LITERAL in right else b) if (LITERAL in right) != (LITERAL in left) else ""
                if read and _given_by(operator, read, read):
                    continue  # the text is read as the other operand's kind
            found.update(_given_by(operator, a, b))
    return frozenset(found)


def _prefixed(operator: str, kind: str) -> Kinds:
    if operator in ("not_", "exists_"):
        return BOOL if operator == "exists_" or kind in ("bool", "other") else NONE
    if kind in NUMBERS or kind == "other":
        return frozenset({kind})
    return frozenset({"interval"}) if kind in ("time", "interval") else NONE


def _given_by(operator: str, left: str, right: str) -> Iterable[str]:
    """The kinds that an operator gives for one kind each."""
    is_open = "other" in (left, right)
    if operator in COMPARING or operator in ("in", "between", "to", "is from"):
        return BOOL if is_open or _ALIKE[left] == _ALIKE[right] else NONE
    if operator in ("and", "or"):
        return BOOL if {left, right} <= {"bool", "other"} else NONE
    if operator in ("like", "escape"):
        return BOOL if operator == "escape" or {left, right} <= {"text", "other"} else NONE
    if operator == ":=":
        is_taken = is_open or _ALIKE[left] == _ALIKE[right] != 4 or left in ("text", right)
        return BOOL if is_taken or right in _ASSIGNED.get(left, ()) else NONE
    if operator == "||":
        return {"text", "other"} if is_open else TEXT if "text" in (left, right) else NONE
    if operator in ARITHMETIC:
        if left in ("text", "bool"):
            return NONE
        if is_open:
            return ANY
        if left in NUMBERS and right in NUMBERS:
            is_taken = operator != "%" or "float" not in (left, right)
            return {max(left, right, key=NUMBERS.index)} if is_taken else NONE
        return _DATE_RULES.get((left, operator, right), NONE)
    return ANY if is_open else INT if left == right == "int" and operator in ("&", "|", "<<", ">>") else NONE


@lru_cache(maxsize=4096)
def reached(kinds: Kinds, level: int) -> Kinds:
    """The kinds to which operators above a level lead from an operand, whatever their other operands are."""
    found, new = NONE, kinds
    while new:
        led = NONE.union(*(applied(sign, new, KNOWN) for sign in _LEADING if LEVEL[sign] > level))
        new = led - found
        found |= led
    return found


# -- texts in quotes ---------------------------------------------------------------------------------------------------

_INTEGER = re.compile(r"\s*[-+]?(\d[\d_]*|0[xob][\da-f_]+)\s*")
_NUMBER = re.compile(r"\s*([-+]?((\d[\d_]*)?\.?[\d_]+|[\d_]+\.)(e[-+]?\d+)?|[-+]?inf(inity)?|nan)\s*")
_BOOL = re.compile(r"\s*(t(r(ue?)?)?|f(a(l(se?)?)?)?|y(es?)?|no?|on|off?|[01])\s*")
_STARTS = "jan feb mar apr may jun jul aug sep oct nov dec mon tue wed thu fri sat sun at on".split()
_SPECIAL = "now today tomorrow yesterday epoch infinity allballs".split()
_DATED = re.compile(
    rf"\s*([-+]?({'|'.join(_SPECIAL)})\s*|(?=.*\d)([-+@]|\d|[pjt][-\d]|{'|'.join(_STARTS)}).*)", re.DOTALL
)
_BEGINNINGS = [*_SPECIAL, *"true false yes no off nan 0x1 p1 j1 t1 -1 +1 -infinity +infinity".split(),
               *(f"{word} 1" for word in _STARTS)]  # fmt: skip
_TIMES = ("date", "time", "stamp", "interval")


def literal_kinds(text: str) -> Kinds:
    """The kinds that a text in quotes can be read as, by its content in lower case."""
    kinds = {LITERAL, "text"}
    for pattern, of in ((_INTEGER, NUMBERS), (_NUMBER, NUMBERS[1:]), (_BOOL, ("bool",)), (_DATED, _TIMES)):
        if pattern.fullmatch(text):
            kinds.update(of)
    return frozenset(kinds)


class QuotedTexts(Names):
    """The texts in quotes that have one of some sets of kinds."""

    __slots__ = ("_kinds",)

    def __init__(self, kinds: frozenset[Kinds]) -> None:
        super().__init__((), prefixes=("",))
        self._kinds = kinds

    def has(self, text: bytes, *, quoted: bool = False) -> bool:
        """True if a text is one."""
        return literal_kinds(text.decode(errors="replace")) in self._kinds

    def begins(self, text: bytes, *, quoted: bool = False) -> bool:
        """True if one begins with a text."""
        return bool(self.rests(text, quoted=True))

    def rests(self, text: bytes, *, quoted: bool = False, certain: bool = False) -> list[bytes]:
        """Give rests with which a text becomes one: a few, if there are any."""
        begun = text.decode(errors="replace")
        rests = ["", "1", "-1"] if quoted else []
        rests += [word[len(begun.lstrip()) :] for word in _BEGINNINGS if quoted and word.startswith(begun.lstrip())]
        return [rest.encode() for rest in rests if literal_kinds(begun + rest) in self._kinds]


LITERAL_KINDS = frozenset(map(literal_kinds, ["5", "1", "5.5", "true", "jan 1", "1-1", "inf", "infinity", "on", "x"]))
