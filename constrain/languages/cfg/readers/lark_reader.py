"""Reads Lark grammars, through lark's own loader.

The idea: lark parses the text, follows `%import`, and merges `%override` and `%extend`; it yields a tree for each rule
and terminal. These trees become EBNF expressions here: templates are instantiated, and literals become terminals (the
defined terminal with the same text, if there is one). Whatever only shapes parse trees (aliases, `?rule`, `_rule`,
`!rule`, priorities of rules) is ignored, since it does not change the language. Lark's own `compile` is not used: it
multiplies groups out, so that twenty optional parts would become a million rules.

Reference: https://lark-parser.readthedocs.io/en/stable/grammar.html. Terminals: lark_terminals.py; errors:
lark_errors.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lark import Token, Tree
from lark.grammar import NonTerminal
from lark.grammar import Symbol as LarkSymbol

from constrain.errors import GrammarError, LimitError, did_you_mean, span
from constrain.languages.automata.shape import not_empty
from constrain.languages.automata.syntax import EMPTY, EPSILON, Node, complement, literal
from constrain.languages.cfg.build import CaptureRule, GrammarReading, build, with_followed
from constrain.languages.cfg.ebnf import Choice, Expression, Leaf, Ref, Repeated, Sequence, parts_of
from constrain.languages.cfg.followed import FollowedRule
from constrain.languages.cfg.layout import Layout
from constrain.languages.cfg.readers.embedded import NO_READERS, Readers
from constrain.languages.cfg.readers.extensions import Extracted, If, Parameter, TextSettings, extract
from constrain.languages.cfg.readers.keyword_case import one_case, without
from constrain.languages.cfg.readers.lark_errors import Places
from constrain.languages.cfg.readers.lark_loader import load
from constrain.languages.cfg.readers.lark_terminals import (
    bounds,
    literals,
    sign_of,
    single_string,
    split_at_and,
    terminal_node,
    terminal_texts,
)
from constrain.languages.cfg.readers.rule_options import apply_options
from constrain.languages.cfg.rules import KeywordCase, Lexer, Terminal
from constrain.languages.cfg.transform.contexts import eliminate_context
from constrain.languages.cfg.transform.fold import reachable, references
from constrain.languages.cfg.transform.regular import WHOLE, inline_ignored_rules
from constrain.limits import limits_at, tick

MAX_INSTANCES = 10_000  # of templates; more means that a template uses itself with ever larger arguments
MAX_PARAMETERS = 20_000  # of rules with parameters: 2 s
MAX_PRIORITY = (1 << 20) - 1  # of terminals; the engine keeps them in an int32 with two other bits


@dataclass(frozen=True)
class LarkRules:
    """The rules of a Lark text, before a grammar is built.

    Attributes:
        rules: The defined rules. A declared symbol (`%declare`) occurs in them as a `Ref` to a name that `rules` lacks.
        declared: The declared symbols, in order.
        start: The name of the start rule.
        ignore: The ignored terminals.
        terminals: The defined terminals that rules use, by name.
        place: Draws the place where a name is defined.
        declaration: Draws the place where a name is first used.
        context_terminals: Terminals with lookaround contexts, and their places.
        captures: What is captured of rules, by their names.
        followed: The rules whose tokens matter, by their names.
        settings: The settings of the text.
        findings: Sentences about options without an effect.
    """

    rules: Mapping[str, Expression]
    declared: tuple[str, ...]
    start: str
    ignore: tuple[Terminal, ...]
    terminals: Mapping[str, Terminal]
    place: Callable[[str], str | None]
    declaration: Callable[[str], str | None]
    context_terminals: Mapping[Terminal, str | None]
    captures: Mapping[str, CaptureRule] = field(default_factory=dict)
    followed: Mapping[str, FollowedRule] = field(default_factory=dict)
    settings: TextSettings = field(default_factory=TextSettings)
    findings: tuple[str, ...] = ()

    def bound(self, definitions: Mapping[str, Expression]) -> LarkRules:
        """Rules with definitions of declared symbols (and any rules that these need)."""
        declared = tuple(name for name in self.declared if name not in definitions)
        return replace(self, rules={**self.rules, **definitions}, declared=declared)

    def reading_with_layout(self, layout: Layout) -> GrammarReading:
        """Build the grammar, with the meaning of lines and columns from a layout. Raises as `reading`."""
        for name in layout.declared:
            defined = name in self.rules or name in self.terminals
            if name not in self.declared and (defined or name == layout.newline):
                raise GrammarError(
                    f"the layout's {name} is not declared in the grammar",
                    place=self.place(name),
                    fix=f"write %declare {name}, and remove its definition",
                )
        line, indent = (Leaf(Terminal(literal(text), name)) for text, name in zip("\n ", layout.declared, strict=False))
        meaning: dict[str, Expression] = dict(zip(layout.declared, (line, indent, Sequence(())), strict=True))
        meaning = {name: expression for name, expression in meaning.items() if name in self.declared}
        return self.bound(meaning).reading("greedy", layout)

    def reading(self, lexer: Lexer, layout: Layout | None = None) -> GrammarReading:
        """Build the grammar. Raises GrammarError for an undefined declared symbol, and what `build` raises."""
        reading = self._reading(lexer, layout)
        if not self.followed:
            return reading
        if lexer == "greedy" or self.context_terminals:
            what = "under lexer='greedy'" if lexer == "greedy" else "beside a terminal that looks at the text around it"
            place = next(iter(self.followed.values())).place
            fix = "use lexer='dynamic'" if lexer == "greedy" else "remove the look-around"
            raise GrammarError(f"max_tokens and temperature are not read {what}", place=place, fix=fix)

        def marked(rules: Mapping[str, Expression]) -> GrammarReading:
            return replace(self, rules=rules, captures={})._reading(lexer, None)

        if reading.start in self.rules:  # as written, not folded; else ignored text has been written into the rules
            reading = replace(reading, rules=self.rules)
        return with_followed(reading, self.followed, marked)

    def _reading(self, lexer: Lexer, layout: Layout | None) -> GrammarReading:
        """`reading` without regard to rules whose tokens matter."""
        reached = reachable(self.rules, self.start)
        for name in self.declared:
            if name in reached:
                raise GrammarError(
                    f"{name} is declared without a definition: nothing can be generated for it",
                    place=self.declaration(name),
                    fix="define it, and remove %declare",
                )
        nothing = {name: Leaf(Terminal(EMPTY, name)) for name in self.declared}  # only unreachable rules use them
        rules = {**self.rules, **nothing}
        parts = parts_of(rules.values())
        if self.context_terminals and (parts or lexer == "greedy"):
            what = "in a grammar with embedded constraints" if parts else "under lexer='greedy'"
            raise GrammarError(
                f"a terminal cannot look at the text around it (look-around or \\b at its edge) {what}",
                place=next(iter(self.context_terminals.values())),
                fix="remove it, and say in the rules what may follow; lexer='greedy' keeps words whole by itself",
            )
        if parts and lexer == "greedy":
            raise GrammarError(
                f"{parts[0]!r} is embedded, but lexer='greedy': the longest lexeme would be sought inside of it too",
                place=next(filter(None, map(self.declaration, self.rules)), None),
                fix="use lexer='dynamic'",
            )
        if self.captures and (lexer == "greedy" or self.context_terminals):
            what = "under lexer='greedy'" if lexer == "greedy" else "beside a terminal that looks at the text around it"
            place = self.place(next(iter(self.captures)))
            fix = "use lexer='dynamic'" if lexer == "greedy" else "remove the look-around"
            raise GrammarError(f"captures are not read {what}", place=place, fix=fix)
        reading = build(rules, self.start, ignore=self.ignore, lexer=lexer, place=self.place, layout=layout)
        reading = replace(reading, findings=reading.findings + self.findings, captures=self.captures)
        if self.context_terminals:
            return replace(reading, grammar=eliminate_context(reading.grammar))
        is_plain = self.settings.initial_ignored and self.settings.repeated_ignored
        if not parts and (is_plain or not self.ignore):
            return reading
        if lexer == "greedy":
            fix = "use lexer='dynamic'"
            raise GrammarError("%llguidance settings of ignored text have no meaning under lexer='greedy'", fix=fix)
        if self.ignore:  # ignored text may stand around an embedded part, but not inside
            rules, start = inline_ignored_rules(rules, self.start, self.ignore, *self.settings[:2]), WHOLE
        else:
            start = self.start
        again = build(rules, start, folded=not self.captures, place=self.place)
        return replace(again, findings=reading.findings, captures=self.captures)


def read_lark(
    text: str,
    *,
    start: str = "start",
    lexer: Lexer = "dynamic",
    base: str | None = None,
    layout: Layout | None = None,
    embedded: Readers = NO_READERS,
    keywords: KeywordCase = "any",
) -> GrammarReading:
    """Read a Lark grammar.

    base: the folder of relative imports; None: there are none. layout: the meaning of lines and columns; the
    lexer is then greedy. embedded: readers for `%json` and its like. keywords: keyword_case.py.
    Raises GrammarError with its place in the text, UnsatisfiableError if no text is a member, LimitError if the text is
    nested too deeply.
    """
    try:
        greedy = layout is not None or lexer == "greedy"
        rules = read_rules(text, start=start, base=base, embedded=embedded, keywords=keywords, greedy=greedy)
        return rules.reading_with_layout(layout) if layout is not None else rules.reading(lexer)
    except RecursionError:
        raise _too_deep() from None


def read_rules(
    text: str,
    *,
    start: str = "start",
    base: str | None = None,
    embedded: Readers = NO_READERS,
    keywords: KeywordCase = "any",
    greedy: bool = False,
) -> LarkRules:
    """Read the rules of a Lark grammar, for callers that define declared symbols. Raises as `read_lark`."""
    if not text.strip():
        raise GrammarError("the grammar is empty", fix='write at least a start rule, like start: "yes" | "no"')
    try:
        extracted = extract(text, lambda index, length: span(text, index, length), embedded)
        places = Places(text)
        if extracted.text != text:
            places = Places(extracted.text, original=text, extracted=extracted)
        reader = _Reader(extracted, places, base)
        reader.write_keywords(keywords, greedy)
        rules = reader.read(extracted.names.get(start, start))
        return rules.bound(extracted.parts)
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> LimitError:
    return LimitError("the grammar is nested too deeply", fix="name the inner parts as rules of their own")


class _Reader:
    """Converts lark's trees to EBNF expressions."""

    def __init__(self, extracted: Extracted, places: Places, base: str | None) -> None:
        self.places = places
        self.extracted = extracted
        self.signs = extracted.in_terminals
        loaded = load(extracted.text, places, base)
        self.rules: dict[str, tuple[tuple[str, ...], Tree[Any]]] = {n: (p, t) for n, p, t, _ in loaded.rule_defs if t}
        self.definitions: dict[str, tuple[Tree[Any], int]] = {n: (t, p) for n, (t, p) in loaded.term_defs if t}
        named = [(n, tree) for n, (tree, _) in loaded.term_defs] + [(n, tree) for n, _, tree, _ in loaded.rule_defs]
        self.declared = tuple(name for name, tree in named if tree is None)
        self.ignore: list[str] = list(loaded.ignore)
        self.strings = {str(s): n for n, (tree, _) in self.definitions.items() if (s := single_string(tree))}
        self.terminals: dict[str, Terminal] = {}
        self.cased: dict[str, Node] = {}  # strings under the flag i that are written in one case, and what they lose
        self.refused: Node = EMPTY
        self.every_case: dict[Terminal, Node] = {}
        self.context_terminals: dict[Terminal, str | None] = {}
        self.instances: dict[tuple[str, tuple[Expression, ...]], str] = {}
        self.done: dict[str, Expression] = {}
        self.pending: deque[tuple[str, Tree[Any], Mapping[str, Expression], int | None]] = deque()
        self.parameter: int | None = None  # of the rule that is being read
        self.argument: int | None = None  # for the rule that follows
        self.parameters: set[str] = set()

    def write_keywords(self, case: KeywordCase, greedy: bool) -> None:
        """Write keywords in one case. greedy: other terminals lose the spellings that are refused."""
        if case == "any":
            return
        trees = [*(tree for tree, _ in self.definitions.values()), *(tree for _, tree in self.rules.values())]
        self.cased, refused = one_case((each for tree in trees for each in literals(tree)), case, self.places.token)
        self.refused = refused if greedy else EMPTY

    def read(self, start: str) -> LarkRules:
        self._check_start(start)
        plain = ((name, tree) for name, (parameters, tree) in self.rules.items() if not parameters)
        self.pending.extend((name, tree, {}, None) for name, tree in plain if name not in self.extracted.parametric)
        while self.pending:
            name, tree, arguments, self.parameter = self.pending.popleft()
            with limits_at(lambda: f"rule {name}"):  # noqa: B023
                self.done[name] = self.expression(tree, arguments)
        self._check_references()
        ignore = tuple(self.terminal(name) for name in self.ignore if self._require_text(name))
        for terminal in ignore:
            if terminal.node == EPSILON:
                place = self.places.search("%ignore")
                raise GrammarError("nothing is ignored", place=place, fix="write what: %ignore / +/")
        ignore = tuple(replace(terminal, node=not_empty(terminal.node)) for terminal in ignore)
        rules, captures, followed, findings = apply_options(
            self.done, self.extracted.options, self.terminal, self.extracted.written_name
        )
        terminals = {name: terminal for name, terminal in self.terminals.items() if name in self.definitions}
        used, settings = self.places.use, self.extracted.settings
        return LarkRules(
            rules,
            self.declared,
            start,
            ignore,
            terminals,
            lambda name: self.places.definition(name.split("::")[0]),
            used,
            self.context_terminals,
            captures,
            followed,
            settings,
            (*settings.findings, *findings),
        )

    # Rules

    def expression(self, tree: Any, arguments: Mapping[str, Expression]) -> Expression:
        """The expression of a rule's tree. arguments: the values of the template's parameters."""
        tick()
        if tree.data == "expansions":
            parts = tuple(self.expression(child, arguments) for child in tree.children)
            return parts[0] if len(parts) == 1 else Choice(parts)
        if tree.data == "expansion":
            return self.sequence(tree.children, arguments)
        if tree.data == "alias":
            return self.expression(tree.children[0], arguments)
        if tree.data == "maybe":
            return Repeated(self.expression(tree.children[0], arguments), 0, 1)
        if tree.data == "expr":
            return Repeated(self.expression(tree.children[0], arguments), *bounds(tree.children, self.places.token))
        return self.value(tree.children[0], arguments)

    def sequence(self, children: list[Any], arguments: Mapping[str, Expression]) -> Expression:
        """The expression of one alternative. Raises GrammarError for `&`."""
        if len(split_at_and(children, self.signs)) > 1:
            token = next(token for child in children for token in literals(child) if self.signs.get(token.value) == "&")
            fix = "define a terminal (upper case) for the intersection"
            raise GrammarError("& is for terminals, not for rules", place=self.places.token(token), fix=fix)
        for child in children if self.parameter is not None or self.extracted.signs else ():
            sign = sign_of(child, self.extracted.signs)
            if isinstance(sign, If) and not sign.holds(self._parameter(child)):
                return Choice(())
        parts: list[Expression] = []
        negated: Any = None
        for child in children:
            sign = sign_of(child, self.extracted.signs)
            if sign == "~":
                negated = None if negated is not None else child
                continue
            if isinstance(sign, If):
                continue
            if isinstance(sign, Parameter):
                self.argument = sign.constant if sign.constant is not None else sign.value(self._parameter(child))
                continue
            is_counted = child.data == "expr"
            part = self.expression(child.children[0] if negated is not None and is_counted else child, arguments)
            if negated is not None:
                part = self._negated(part, negated)
                if is_counted:  # ~A+ is (~A)+
                    part = Repeated(part, *bounds(child.children, self.places.token))
                negated = None
            parts.append(part)
        if negated is not None:
            raise GrammarError("~ stands alone", place=self.places.token(next(literals(negated))), fix="write ~A")
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _parameter(self, sign: Any) -> int:
        """The parameter of the rule that is being read."""
        if self.parameter is None:
            place = self.places.token(next(literals(sign)))
            raise GrammarError("this rule has no parameter", place=place, fix="define it as name::_: ...")
        return self.parameter

    def _with_parameter(self, name: str) -> Expression:
        """A reference to the rule of a name for the parameter that stands behind it; made when first used."""
        value, self.argument = self.argument, None
        place = self.places.use(name) or self.places.definition(name)
        shown = self.places.shown(name)
        if value is None:
            raise GrammarError(f"rule {shown} has a parameter, but none is given", place=place, fix=f"write {shown}::0")
        if name not in self.extracted.parametric or name not in self.rules:
            raise GrammarError(f"{shown} has no parameter", place=place, fix=f"define it as {shown}::_: ...")
        instance = f"{name}::{value}"
        if instance not in self.parameters:
            if len(self.parameters) == MAX_PARAMETERS:
                message = f"rules are used with more than {MAX_PARAMETERS} different parameters"
                raise LimitError(message, place=place, fix="let the parameter count less, or fewer bits")
            self.parameters.add(instance)
            self.pending.append((instance, self.rules[name][1], {}, value))
        return Ref(instance)

    def _negated(self, part: Expression, sign: Any) -> Expression:
        """The texts that are none of a terminal's."""
        if not isinstance(part, Leaf) or part.terminal.contexts:
            place = self.places.token(next(literals(sign)))
            raise GrammarError("~ is for terminals, not for rules", place=place, fix="define a terminal (upper case)")
        node = self.every_case.get(part.terminal, part.terminal.node)
        return Leaf(Terminal(complement(node), f"~{part.terminal.name}"))

    def value(self, item: Any, arguments: Mapping[str, Expression]) -> Expression:
        if isinstance(item, LarkSymbol):
            name = str(item.name)
            if name in arguments:
                return arguments[name]
            if self.argument is not None or name in self.extracted.parametric:
                return self._with_parameter(name)
            is_rule = isinstance(item, NonTerminal) or name in self.declared
            return Ref(name) if is_rule else Leaf(self.terminal(name))
        if item.data == "literal":
            meaning = self.extracted.signs.get(item.children[0].value)
            return meaning if isinstance(meaning, Leaf) else Leaf(self.anonymous(item.children[0]))
        if item.data == "range":
            low, high = item.children
            return Leaf(Terminal(terminal_node(item, self.places.token), f"{low}..{high}"))
        return self.instance(item, arguments)

    def instance(self, usage: Any, arguments: Mapping[str, Expression]) -> Expression:
        """A reference to the rule of a template for some arguments, `name{x, y}`; the rule is made when first used."""
        target, *written = usage.children
        name = str(target.name)
        passed = arguments.get(name)
        name = passed.name if isinstance(passed, Ref) else name
        values = tuple(self.value(argument.children[0], arguments) for argument in written)
        parameters, tree = self.rules[name]
        if len(parameters) != len(values):
            message = f"wrong number of arguments for template {name}: {len(values)}, not {len(parameters)}"
            raise GrammarError(message, place=self.places.use(name), fix="give one argument for each parameter")
        if (name, values) not in self.instances:
            if len(self.instances) == MAX_INSTANCES:
                raise GrammarError(
                    f"template {name} is used with more than {MAX_INSTANCES} different arguments",
                    place=self.places.definition(name),
                    fix="do not use a template inside itself with a larger argument",
                )
            shown = ",".join(
                v.name if isinstance(v, Ref) else v.terminal.name for v in values if isinstance(v, Ref | Leaf)
            )
            self.instances[name, values] = f"{name}{{{shown}}}"
            arguments = dict(zip(parameters, values, strict=True))
            self.pending.append((f"{name}{{{shown}}}", tree, arguments, self.parameter))
        return Ref(self.instances[name, values])

    # Terminals

    def terminal(self, name: str) -> Terminal:
        """The terminal of a definition."""
        if name not in self.terminals:
            tree, priority = self.definitions[name]
            if abs(priority) > MAX_PRIORITY:
                raise GrammarError(
                    f"the priority {priority} of {name} is too large",
                    place=self.places.definition(name),
                    fix=f"keep priorities within ±{MAX_PRIORITY}",
                )
            shown = "%ignore" if name.startswith("__IGNORE") else name  # lark's name for an unnamed ignored text
            self.terminals[name] = self._new(tree, shown, priority, single_string(tree) is not None)
        return self.terminals[name]

    def anonymous(self, token: Token) -> Terminal:
        """The terminal of a literal in a rule: the defined one with the same text (and its priority), or a new one."""
        defined = self.strings.get(str(token)) if token.type == "STRING" else None
        if defined:
            return self.terminal(defined)
        key = str(token)
        if key not in self.terminals:
            self.terminals[key] = self._new(Tree("literal", [token]), key, 0, token.type == "STRING")
        return self.terminals[key]

    def _new(self, tree: Any, name: str, priority: int, literal: bool) -> Terminal:
        """The terminal of a tree. If it has lookaround contexts, its place is remembered for errors."""
        node, contexts = terminal_texts(tree, self.places.token, self.signs)
        whole = node
        if self.cased:
            if not any(self.signs.get(token.value) == "~" for token in literals(tree)):
                node, contexts = terminal_texts(tree, self.places.token, {**self.signs, **self.cased})
            node, contexts = without(node, contexts, self.refused)
        terminal = Terminal(node, name, priority, literal, contexts=contexts)
        if node != whole:
            self.every_case[terminal] = whole
        if terminal.contexts:
            self.context_terminals[terminal] = self.places.token(next(iter(literals(tree))))
        return terminal

    # Faults

    def _check_start(self, start: str) -> None:
        if start in self.extracted.parametric:
            place = self.places.definition(start)
            raise GrammarError("the start rule has a parameter", place=place, fix="add a rule: start: name::0")
        if start not in self.rules or self.rules[start][0]:
            names = [name for name, (parameters, _) in self.rules.items() if not parameters]
            raise GrammarError(
                f"there is no rule {start!r} to start from; the rules are: {', '.join(names) or 'none'}",
                place=self.places.definition(start),
                fix=did_you_mean(start, names, f"name one of your rules {start}, or pass start=..."),
            )

    def _check_references(self) -> None:
        """Refuse a template's name without arguments, unless it is itself an argument."""
        for expression in self.done.values():
            for name in references(expression):
                if name not in self.done and name not in self.declared:
                    place = self.places.use(name)
                    raise GrammarError(f"template {name} needs arguments", place=place, fix=f"write {name}{{...}}")

    def _require_text(self, name: str) -> bool:
        """True; raises GrammarError if an ignored terminal is only declared."""
        if name in self.declared:
            place = self.places.use(name)
            raise GrammarError(f"{name} is ignored, but only declared", place=place, fix="define it, as a regex")
        return True
