r"""Options of rules in llguidance's Lark: `name[capture="n", suffix="\n"]: /.*/`.

| option | meaning |
|---|---|
| `capture`, `capture="n"` | the texts of the rule are captured, under its name or another |
| `lazy` | the rule ends as soon as it can: its texts are those without a proper prefix among them |
| `suffix=S` | the rule's terminal, then S, ending as soon as it can; S is not captured |
| `stop=S` | like `suffix`, but S is not part of the text: the rule's texts are what stands before S |
| `stop_capture="n"` | what S matched is captured, where it is part of the text |
| `max_chars=N` | the texts of at most N characters |
| `max_tokens=N` | at most N tokens have a byte of the text; 0: the empty text |
| `temperature=T` | tokens that begin in the rule are drawn at temperature T |

S is a string, a regex or the name of a terminal. The body of a rule with `lazy`, `suffix` or `stop` is regular:
strings, regexes and terminals, without ignored text inside; so is that of one with `max_chars` or `max_tokens`.
`stop=""` ends the rule wherever the rest can go on, which is what the rule says without it; so does `suffix=""`. What
`max_tokens` and `temperature` need: cfg/followed.py.

In XGrammar's dialect, which a text with `%grammar_options` is in, S of `stop` is part of the text, and a rule with
`max_chars` ends at the first place from N characters on where it can, also before its `suffix`.

Sources: https://github.com/guidance-ai/llguidance, docs/syntax.md, "Lexeme options";
https://github.com/mlc-ai/xgrammar, "Lark Grammar", "Rule Options".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from constrain.errors import ConstrainError, GrammarError, LimitError
from constrain.languages.automata import syntax
from constrain.languages.automata.counts import read_count
from constrain.languages.automata.quotient import right_quotient, right_quotient_by
from constrain.languages.automata.syntax import Literals, Node
from constrain.languages.cfg.build import CaptureRule
from constrain.languages.cfg.ebnf import Expression, Leaf, Sequence, terminals_of
from constrain.languages.cfg.followed import FollowedRule
from constrain.languages.cfg.readers.lazy_rules import end_before_lazy
from constrain.languages.cfg.rules import Terminal
from constrain.languages.cfg.transform.fold import references, to_node

Draw = Callable[[int, int], str]

_VALUE = r'"(?:\\.|[^"\\\n])*"i?|/(?:\\.|[^/\\\n])+/[imslux]*|[-+]?[0-9][0-9.eE+-]*|[A-Za-z_]\w*'
_OPTION = re.compile(rf"\s*(?P<key>[A-Za-z_]+)\s*(?:=\s*(?P<value>{_VALUE}))?\s*(?P<next>[,\]])")
_KNOWN = "capture, lazy, suffix, stop, stop_capture, max_chars, max_tokens, temperature"


@dataclass(frozen=True)
class RuleOptions:
    """The options of a rule.

    Attributes:
        capture: The name under which texts of the rule are captured; None: they are not.
        lazy: Texts end as soon as they can.
        suffix: The name of the terminal that ends the rule's texts.
        stop: The name of the terminal before which the rule's texts end; "" for `stop=""`.
        stop_capture: The name under which the suffix is captured.
        max_tokens: The greatest number of tokens of the rule's texts; None: no bound.
        max_chars: The greatest number of characters of the rule's texts, without a stop; None: no bound.
        temperature: The temperature of its tokens; None: that of the whole text.
        directive: The directive that tells the dialect: "llguidance", "grammar_options" (XGrammar's), or "" for none.
        place: Where the options are written.
    """

    capture: str | None = None
    lazy: bool = False
    suffix: str | None = None
    stop: str | None = None
    stop_capture: str | None = None
    max_chars: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    directive: str = ""
    place: str | None = None

    def in_dialect(self, directive: str) -> RuleOptions:
        """The options as the dialect of a directive means them. Raises GrammarError."""
        options = replace(self, directive=directive)
        if options.in_xgrammar and self.stop:
            return replace(options, suffix=self.stop, stop=None)
        if self.stop_capture is not None and self.suffix is None:
            fix = "use suffix=, or begin with %grammar_options {}: in XGrammar's dialect stop= is part of the text"
            message = "stop_capture needs suffix=: what stop= names is not part of the text"
            raise GrammarError(message, place=self.place, fix=fix)
        return options

    @property
    def in_xgrammar(self) -> bool:
        """True if the text is in XGrammar's dialect."""
        return self.directive == "grammar_options"

    @property
    def follows(self) -> bool:
        """True if the rule's tokens matter, and not only its text."""
        return bool(self.max_tokens) or self.temperature is not None


def read_options(
    text: str, index: int, rule: str, place: Draw, terminal: str
) -> tuple[int, RuleOptions, list[tuple[str, str]]]:
    """Read the options of a rule from the bracket at an index.

    terminal: the name of a terminal to define for what an option names.

    Returns:
        The index after them, the options, and the terminals that they need, as pairs (name, definition).
    """
    begin = index
    values: dict[str, str] = {}
    definitions: list[tuple[str, str]] = []
    index += 1
    while True:
        option = _OPTION.match(text, index)
        if option is None:
            fix = f"write name or name=value, with commas between; the options are {_KNOWN}"
            raise GrammarError("bad option", place=place(index, 1), fix=fix)
        key, value, at = option["key"], option["value"], place(option.start("key"), len(option["key"]))
        if key in values:
            raise GrammarError(f"the option {key} is given twice", place=at, fix="give it once")
        values[key] = _checked(key, value, rule, at)
        if key in ("suffix", "stop") and value and value != '""':
            definitions.append((terminal, value))
        index = option.end()
        if option["next"] == "]":
            break
    where = place(begin, index - begin)
    if {"suffix", "stop"} <= values.keys():
        raise GrammarError("stop and suffix exclude each other", place=where, fix="suffix= is a part of the text")
    if "stop_capture" in values and not definitions:
        raise GrammarError("stop_capture needs suffix=", place=where, fix='suffix="text", not an empty one')
    named = {key: terminal if definitions else "" for key in ("suffix", "stop") if key in values}
    options = RuleOptions(
        values.get("capture"),
        "lazy" in values,
        named.get("suffix") or None,
        named.get("stop", named.get("suffix") if not definitions else None),
        values.get("stop_capture"),
        int(values["max_chars"]) if "max_chars" in values else None,
        int(values["max_tokens"]) if "max_tokens" in values else None,
        float(values["temperature"]) if "temperature" in values else None,
        place=where,
    )
    return index, options, definitions


def _checked(key: str, value: str | None, rule: str, place: str) -> str:
    """The value of an option. Raises GrammarError."""
    if key == "capture" and value is None:
        return rule
    if key in ("capture", "stop_capture"):
        if value is None or not value.startswith('"') or value in ('""', '"'):
            raise GrammarError(f"{key} needs a name in quotes", place=place, fix=f'{key}="name"')
        return str(ast.literal_eval(value))
    if key == "lazy" and value is None:
        return ""
    if key in ("suffix", "stop") and value is not None and not value[0].isdigit():
        return value
    if key == "max_chars":
        return str(count_of(value, place, key, "characters"))
    if key == "max_tokens":
        return str(count_of(value, place))
    if key == "temperature":
        return str(temperature_of(value, place))
    message = f"bad option {key}" if key in _KNOWN.split(", ") else f"unknown option {key}"
    raise GrammarError(message, place=place, fix=f"the options are {_KNOWN}")


def count_of(value: str | None, place: str, key: str = "max_tokens", unit: str = "tokens") -> int:
    """The value of `max_tokens` or `max_chars`. Raises GrammarError."""
    if value is None or not value.isdecimal():
        raise GrammarError(f"{key} needs a number of {unit}", place=place, fix=f"{key}=100")
    return read_count(value)


def temperature_of(value: str | None, place: str) -> float:
    """The value of `temperature`. Raises GrammarError."""
    try:
        temperature = float(value or "")
    except ValueError:
        temperature = -1.0
    if not 0 < temperature < 1000:
        zero = temperature == 0
        message = "a rule cannot have temperature 0: it draws tokens" if zero else "temperature needs a number above 0"
        raise GrammarError(message, place=place, fix="temperature=0.01 takes the likeliest token nearly always")
    return temperature


def apply_options(
    rules: Mapping[str, Expression],
    options: Mapping[str, RuleOptions],
    terminal: Callable[[str], Terminal],
    shown: Callable[[str], str],
) -> tuple[dict[str, Expression], dict[str, CaptureRule], dict[str, FollowedRule], list[str]]:
    """Write options into the rules.

    terminal: the terminal of a name. shown: a rule's name for messages.

    Returns:
        The rules, what is captured, whose tokens matter, and findings.
    """
    changed, captures, followed = dict(rules), {}, {}
    findings: list[str] = []
    lazy: dict[str, Node] = {}  # rules that end what stands beside them
    instances: dict[str, list[str]] = {}  # rules with a parameter have one for each value
    for rule in rules if options else ():
        instances.setdefault(rule.split("::")[0], []).append(rule)
    for name, rule_options in [
        (one, rule_options) for rule, rule_options in options.items() for one in instances.get(rule, [rule])
    ]:
        if name not in rules:
            message = f"{shown(name)} is no rule that is used, and cannot have options"
            raise GrammarError(message, place=rule_options.place, fix="name rules in lower case")
        body: Node | None = None
        end = (
            terminal(rule_options.suffix or rule_options.stop or "").node
            if rule_options.suffix or rule_options.stop
            else None
        )
        if rule_options.max_tokens == 0:
            changed[name] = Sequence(())
        elif rule_options.lazy or end is not None or rule_options.max_chars is not None:
            body, ended = _texts(rules[name], end, rule_options)
            changed[name] = Leaf(Terminal(ended, shown(name)))
            if rule_options.lazy or rule_options.suffix:
                lazy[name] = ended
        elif rule_options.stop == "":
            findings.append(f'rule {shown(name)}: stop="" changes no language: the rule ends where the rest can go on')
        if rule_options.stop and not rule_options.directive:
            told = "what stop= names is no part of the text; under %grammar_options {}, XGrammar's, it is"
            findings.append(f"rule {shown(name)}: {told}")
        if rule_options.capture is not None or rule_options.stop_capture is not None:
            suffix = end if rule_options.suffix else None
            captures[name] = CaptureRule(
                rule_options.capture, body if suffix else None, suffix, rule_options.stop_capture
            )
        if rule_options.follows and rule_options.max_tokens != 0:
            followed[name] = FollowedRule(rule_options.max_tokens, rule_options.temperature, rule_options.place)
    if lazy:
        changed, left_out = end_before_lazy(changed, lazy)
        findings += left_out
    return changed, captures, followed, findings


def _regular(expression: Expression, given: RuleOptions) -> Node:
    """The language of a rule's body, which must consist of terminals."""
    node = None if references(expression) else to_node({"body": expression}, "body", limit=1_000_000)
    if node is None or any(leaf.contexts for leaf in terminals_of([expression])):
        message = "lazy, suffix, stop and max_chars need a rule of strings, regexes and terminals"
        raise GrammarError(message, place=given.place, fix="make terminals (upper case) of the rules that it uses")
    return node


def _texts(expression: Expression, end: Node | None, given: RuleOptions) -> tuple[Node, Node]:
    """(the texts before a suffix, the texts) of a rule with a regular body. end: what ends it."""
    body = _regular(expression, given)
    if given.max_chars is not None and not given.in_xgrammar:
        body = syntax.intersect(body, syntax.repeat(syntax.ANY_CHAR, 0, given.max_chars))
    ends = given.lazy or end is not None
    texts = _until(body, end, given) if ends else body
    if given.max_chars is None or not given.in_xgrammar:
        return body, texts
    late = syntax.intersect(body, syntax.repeat(syntax.ANY_CHAR, given.max_chars))
    if ends:
        return body, shortest(syntax.alternate(texts, late))
    return body, syntax.difference(body, syntax.concat(late, syntax.repeat(syntax.ANY_CHAR, 1)))


def shortest(node: Node) -> Node:
    """The texts of a language without a proper prefix in it."""
    return syntax.difference(node, syntax.concat(node, syntax.repeat(syntax.ANY_CHAR, 1)))


def _until(body: Node, end: Node | None, given: RuleOptions) -> Node:
    """The texts of a rule that ends as soon as it can. end: what ends it."""
    if end is None:
        return shortest(body)
    whole = shortest(syntax.concat(body, end))
    if given.suffix:
        return whole
    try:
        if isinstance(end, Literals):
            return syntax.alternate(*(right_quotient(whole, text) for text in end.texts))
        return right_quotient_by(whole, end)
    except (LimitError, AssertionError) as error:
        message = error.message if isinstance(error, ConstrainError) else "this body cannot be cut before a stop"
        raise GrammarError(message, place=given.place, fix="use suffix=, which keeps the end in the text") from None
