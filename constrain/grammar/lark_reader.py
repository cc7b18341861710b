"""Lark text to a `Grammar`, through lark's own loader.

The idea: lark parses the text, follows `%import`, and merges `%override` and `%extend`; what it leaves is a tree for
each rule and terminal. These trees become `ebnf` expressions here: templates are instantiated, literals become
terminals (the defined one, if one has the same text), and what only shapes a parse tree — aliases, `?rule`, `_rule`,
`!rule`, priorities of rules — is passed over, as it does not change the language. Lark's own `compile` is not used:
it multiplies groups out, so that twenty optional parts would become a million rules.

Reference: https://lark-parser.readthedocs.io/en/stable/grammar.html. Terminals: `lark_terminals`; errors:
`lark_errors`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lark import Token, Tree
from lark.exceptions import LarkError
from lark.grammar import NonTerminal
from lark.grammar import Symbol as LarkSymbol
from lark.load_grammar import GrammarBuilder

from constrain.errors import ConstrainError, GrammarError, LimitError
from constrain.grammar.analysis import nullable_node
from constrain.grammar.build import Reading, build
from constrain.grammar.ebnf import Choice, Expression, Leaf, Ref, Repetition, Sequence
from constrain.grammar.fold import references
from constrain.grammar.lark_errors import Places, located
from constrain.grammar.lark_terminals import bounds, single_string, terminal_node
from constrain.grammar.rules import Lexer, Terminal

MAX_INSTANCES = 10_000  # of templates; more means that a template uses itself with ever larger arguments
_NOTHING: Expression = Sequence(())


def read_lark(text: str, *, start: str = "start", lexer: Lexer = "dynamic") -> Reading:
    """Read a Lark grammar.

    Raises GrammarError, with its place in the text, UnsatisfiableError if no text is a member, LimitError if the text
    is nested too deeply.
    """
    if not text.strip():
        raise GrammarError("the grammar is empty", fix='write at least a start rule, like start: "yes" | "no"')
    places = Places(text)
    try:
        return _Reader(text, places).read(start, lexer)
    except RecursionError:
        raise LimitError("the grammar is nested too deeply", fix="name the inner parts as rules of their own") from None


class _Reader:
    def __init__(self, text: str, places: Places) -> None:
        self.places = places
        loaded = _load(text, places)
        self.rules: dict[str, tuple[tuple[str, ...], Tree[Any]]] = {n: (p, tree) for n, p, tree, _ in loaded.rule_defs}
        self.definitions: dict[str, tuple[Tree[Any] | None, int]] = dict(loaded.term_defs)
        self.ignore: list[str] = list(loaded.ignore)
        self.strings = {str(s): n for n, (tree, _) in self.definitions.items() if tree and (s := single_string(tree))}
        self.terminals: dict[str, Terminal] = {}
        self.instances: dict[tuple[str, tuple[Expression, ...]], str] = {}
        self.done: dict[str, Expression] = {}
        self.pending: list[tuple[str, Tree[Any], Mapping[str, Expression]]] = []

    def read(self, start: str, lexer: Lexer) -> Reading:
        for name, (tree, _) in self.definitions.items():
            if tree is None:
                self._refuse_declared(name)
        for name, (_, rule_tree) in self.rules.items():
            if rule_tree is None:
                self._refuse_declared(name)
        self._check_start(start)
        self.pending = [(name, tree, {}) for name, (parameters, tree) in self.rules.items() if not parameters]
        while self.pending:
            name, tree, arguments = self.pending.pop(0)
            self.done[name] = self.expression(tree, arguments)
        self._check_references()
        ignore = tuple(self.terminal(name) for name in self.ignore)
        reading = build(self.done, start, ignore=ignore, lexer=lexer, place=self.places.definition)
        for terminal in [*ignore, *_used(self.done, start)]:
            self._refuse_zero_width(terminal)
        return reading

    # Rules

    def expression(self, tree: Any, arguments: Mapping[str, Expression]) -> Expression:
        """arguments: what the parameters of the template stand for."""
        if tree.data == "expansions":
            parts = tuple(self.expression(child, arguments) for child in tree.children)
            return parts[0] if len(parts) == 1 else Choice(parts)
        if tree.data == "expansion":
            parts = tuple(self.expression(child, arguments) for child in tree.children)
            return parts[0] if len(parts) == 1 else Sequence(parts)
        if tree.data == "alias":
            return self.expression(tree.children[0], arguments)
        if tree.data == "maybe":
            return Repetition(self.expression(tree.children[0], arguments), 0, 1)
        if tree.data == "expr":
            return Repetition(self.expression(tree.children[0], arguments), *bounds(tree.children, self.places.token))
        return self.value(tree.children[0], arguments)

    def value(self, item: Any, arguments: Mapping[str, Expression]) -> Expression:
        if isinstance(item, LarkSymbol):
            name = str(item.name)
            if name in arguments:
                return arguments[name]
            return Ref(name) if isinstance(item, NonTerminal) else Leaf(self.terminal(name))
        if item.data == "literal":
            return Leaf(self.anonymous(item.children[0]))
        if item.data == "range":
            low, high = item.children
            return Leaf(Terminal(terminal_node(item, self.places.token), f"{low}..{high}"))
        return self.instance(item, arguments)

    def instance(self, usage: Any, arguments: Mapping[str, Expression]) -> Expression:
        """A use of a template, `name{x, y}`, as a reference to the rule made for these arguments."""
        target, *given = usage.children
        name = str(target.name)
        passed = arguments.get(name)
        name = passed.name if isinstance(passed, Ref) else name
        values = tuple(self.value(each.children[0], arguments) for each in given)
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
            self.pending.append((f"{name}{{{shown}}}", tree, dict(zip(parameters, values, strict=True))))
        return Ref(self.instances[name, values])

    # Terminals

    def terminal(self, name: str) -> Terminal:
        if name not in self.terminals:
            tree, priority = self.definitions[name]
            assert tree is not None  # `_refuse_declared`
            node = terminal_node(tree, self.places.token)
            shown = "%ignore" if name.startswith("__IGNORE") else name  # lark's name for an unnamed ignored text
            self.terminals[name] = Terminal(node, shown, priority, literal=single_string(tree) is not None)
        return self.terminals[name]

    def anonymous(self, token: Token) -> Terminal:
        """A literal in a rule: the defined terminal with this text (it may have a priority), or a new one."""
        defined = self.strings.get(str(token)) if token.type == "STRING" else None
        if defined:
            return self.terminal(defined)
        key = str(token)
        if key not in self.terminals:
            node = terminal_node(Tree("literal", [token]), self.places.token)
            self.terminals[key] = Terminal(node, key, literal=token.type == "STRING")
        return self.terminals[key]

    # Faults

    def _check_start(self, start: str) -> None:
        if start not in self.rules or self.rules[start][0]:
            names = [name for name, (parameters, _) in self.rules.items() if not parameters]
            raise GrammarError(
                f"there is no rule {start!r} to start from; the rules are: {', '.join(names) or 'none'}",
                place=self.places.definition(start),
                fix=f"name one of your rules {start}, or pass start=...",
            )

    def _check_references(self) -> None:
        """A template's bare name may be an argument, but stand for nothing."""
        for expression in self.done.values():
            for name in references(expression):
                if name not in self.done:
                    place = self.places.use(name)
                    raise GrammarError(f"template {name} needs arguments", place=place, fix=f"write {name}{{...}}")

    def _refuse_declared(self, name: str) -> None:
        raise GrammarError(
            f"{name} is declared without a definition: nothing can be generated for it",
            place=self.places.use(name),
            fix="define it, and remove %declare",
        )

    def _refuse_zero_width(self, terminal: Terminal) -> None:
        if nullable_node(terminal.node):
            name = terminal.name
            place = self.places.definition(name) or self.places.use(name) or self.places.search(re.escape(name))
            raise GrammarError(
                f"the terminal {name} matches the empty text",
                place=place,
                fix="let it match at least one character, and make it optional where it is used",
            )


class _Loader(GrammarBuilder):
    """lark's loader, with the commonest fault found first, in the order of the text (lark's own check has no order)."""

    def __init__(self, places: Places) -> None:
        super().__init__()
        self.places = places

    def validate(self) -> None:
        for definition in self._definitions.values():
            known = {*self._definitions, *definition.params}
            for value in definition.tree.iter_subtrees_topdown() if definition.tree else ():
                if value.data == "value" and isinstance(value.children[0], LarkSymbol):
                    self._require(str(value.children[0].name), known, "used")
        for name in self._ignore_names:
            self._require(name, set(self._definitions), "ignored")
        super().validate()

    def _require(self, name: str, known: set[str], what: str) -> None:
        if name not in known:
            fix = "define it, import it, or correct the name"
            raise GrammarError(f"{name} is {what} but not defined", place=self.places.use(name), fix=fix)


def _load(text: str, places: Places) -> Any:
    """lark's `Grammar`: `term_defs`, `rule_defs`, `ignore`."""
    builder = _Loader(places)
    try:
        builder.load_grammar(text, "<grammar>")
        return builder.build()
    except ConstrainError:
        raise
    except (LarkError, OSError, AssertionError, ValueError, KeyError, AttributeError) as error:
        raise located(error, places) from error  # lark guards some faults by `assert` only


def _used(rules: Mapping[str, Expression], start: str) -> list[Terminal]:
    """The terminals that the start rule reaches."""
    found: dict[Terminal, None] = {}
    seen, stack = {start}, [start]
    while stack:
        expression = rules[stack.pop()]
        new = references(expression).keys() - seen
        seen |= new
        stack += new
        found |= dict.fromkeys(_leaves(expression))
    return list(found)


def _leaves(expression: Expression) -> list[Terminal]:
    if isinstance(expression, Leaf):
        return [expression.terminal]
    if isinstance(expression, Ref):
        return []
    parts = (expression.part,) if isinstance(expression, Repetition) else expression.parts
    return [terminal for part in parts for terminal in _leaves(part)]
