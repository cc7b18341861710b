"""Static analyses of a grammar: nullable, productive, reachable and right-recursive rules; adjacent terminals.

All functions work on a `Table` (ebnf.py): rule name -> alternatives of symbols. Each is a least fixed point or a graph
search, as in Grune and Jacobs, "Parsing Techniques" (2nd ed.), sections 2.9 (useless rules) and 8.2 (FIRST and FOLLOW
sets).

Cost: linear in the table per round of a fixed point, and few rounds. `swallowed_pairs` decides one language inclusion
for each pair of terminals that can be neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from constrain.languages.automata import syntax
from constrain.languages.automata.shape import first_characters, nullable
from constrain.languages.automata.syntax import Node
from constrain.languages.cfg.ebnf import Counted, Part, Table, TableSymbol
from constrain.languages.cfg.rules import Terminal
from constrain.limits import tick

Key = TypeVar("Key", bound=Hashable)


def empty_node(node: Node) -> bool:
    """True if the regular language is empty. Exact."""
    from constrain.languages.automata.decide import is_empty  # loads numba: only when a grammar is read

    return is_empty(node)


def derivable(table: Table, holds: Callable[[Terminal], bool]) -> set[str]:
    """The least set of rules such that a rule is in it if all symbols of one of its alternatives hold.

    A rule name holds if it is in the set, a terminal if `holds` says so. `x~0..n` always holds. An embedded part always
    holds too: it derives some text (constraints/parts.py checks that), and it is assumed to derive the empty one.

    A worklist, linear in the table (Dowling and Gallier 1984, for Horn clauses).
    """
    missing: list[set[str]] = []  # for each alternative: its rules that are not in the set yet
    owner: list[str] = []  # for each alternative: its rule
    waiting: dict[str, list[int]] = {}  # rule -> the alternatives that lack it
    ready: list[str] = []
    for name, alternatives in table.items():
        for alternative in alternatives:
            tick(1 + len(alternative))
            needed = [_inner(s) for s in alternative if not (isinstance(s, Counted) and s.low == 0)]
            if all(not isinstance(symbol, Terminal) or holds(symbol) for symbol in needed):
                missing.append({symbol for symbol in needed if isinstance(symbol, str)})
                owner.append(name)
                for rule in missing[-1]:
                    waiting.setdefault(rule, []).append(len(owner) - 1)
                if not missing[-1]:
                    ready.append(name)
    derived: set[str] = set()
    while ready:
        name = ready.pop()
        if name not in derived:
            derived.add(name)
            for index in waiting.get(name, ()):
                missing[index].discard(name)
                if not missing[index]:
                    ready.append(owner[index])
    return derived


def _inner(symbol: TableSymbol) -> str | Terminal | Part:
    return symbol.symbol if isinstance(symbol, Counted) else symbol


def nullable_rules(table: Table) -> set[str]:
    """The rules that derive the empty text."""
    return derivable(table, lambda terminal: nullable(terminal.node))


def nullable_symbol(symbol: TableSymbol, rules: set[str]) -> bool:
    """True if the symbol derives the empty text, given the nullable rules. An embedded part is assumed to."""
    if isinstance(symbol, Counted):
        return symbol.low == 0 or nullable_symbol(symbol.symbol, rules)
    if isinstance(symbol, Part):
        return True
    return symbol in rules if isinstance(symbol, str) else nullable(symbol.node)


def productive_rules(table: Table) -> set[str]:
    """The rules that derive some text."""
    return derivable(table, lambda terminal: not empty_node(terminal.node))


def without_unproductive(table: Table) -> Table:
    """The table without unproductive alternatives, and without rules that have no other.

    `x~0..n` of an unproductive x becomes the empty text.
    """
    rules = productive_rules(table)

    def productive(symbol: TableSymbol) -> bool:
        inner = _inner(symbol)
        if isinstance(inner, Part):
            return True
        return inner in rules if isinstance(inner, str) else not empty_node(inner.node)

    pruned: Table = {}
    for name in table:
        if name in rules:
            tick(len(table[name]))
            dropped = {s for a in table[name] for s in a if isinstance(s, Counted) and s.low == 0 and not productive(s)}
            written = ([s for s in a if s not in dropped] for a in table[name])
            pruned[name] = tuple(dict.fromkeys(tuple(a) for a in written if all(map(productive, a))))
    return pruned


def reachable_rules(table: Table, start: str) -> set[str]:
    """The rules that the start rule leads to, including itself."""
    reached, stack = {start}, [start]
    while stack:
        new = {name for a in table[stack.pop()] for name in map(_rule_of, a) if name is not None} - reached
        reached |= new
        stack += new
    return reached


def _rule_of(symbol: TableSymbol) -> str | None:
    inner = _inner(symbol)
    return inner if isinstance(inner, str) else None


def terminals(table: Table) -> dict[Terminal, None]:
    """Every terminal of the table, in order of appearance."""
    inner = (_inner(symbol) for alternatives in table.values() for a in alternatives for symbol in a)
    return {symbol: None for symbol in inner if isinstance(symbol, Terminal)}


def right_recursive_rules(table: Table) -> frozenset[str]:
    """The rules that lead back to themselves through last symbols; trailing nullable symbols are skipped."""
    nullables = nullable_rules(table)
    tails: dict[str, list[str]] = {}
    for name, alternatives in table.items():
        tails[name] = last_rules = []
        for alternative in alternatives:
            for symbol in reversed(alternative):
                rule = _rule_of(symbol)
                last_rules += [rule] if rule is not None else []
                if not nullable_symbol(symbol, nullables):
                    break
    return on_cycles(tails)


def on_cycles(edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The nodes of a graph that can reach themselves."""
    cyclic = {node for node, targets in edges.items() if node in targets}
    cyclic.update(*(component for component in components(edges) if len(component) > 1))
    return frozenset(cyclic)


def components(edges: Mapping[Key, Iterable[Key]]) -> Iterator[list[Key]]:
    """The strongly connected components of a graph, each after all others that it leads to.

    Source: Tarjan's algorithm (1972), without recursion.
    """
    number: dict[Key, int] = {}  # order of first visit
    low: dict[Key, int] = {}  # the smallest number on the path that the node leads back to
    path: list[Key] = []  # visited nodes whose component is not complete yet
    on_path: set[Key] = set()
    for root in edges:
        calls = [] if root in number else [(root, iter(edges[root]))]
        while calls:
            node, targets = calls[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                path.append(node)
                on_path.add(node)
            for target in targets:
                if target not in number:
                    calls.append((target, iter(edges[target])))
                    break
                if target in on_path:
                    low[node] = min(low[node], low[target])
            else:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[node])
                if low[node] == number[node]:
                    component = [path.pop()]
                    while component[-1] != node:
                        component.append(path.pop())
                    on_path.difference_update(component)
                    yield component


def _ends(table: Table, nullables: set[str], last: bool) -> dict[str, set[Terminal]]:
    """FIRST of every rule, or LAST: the terminals that its texts can begin, or end, with."""
    ends: dict[str, set[Terminal]] = {name: set() for name in table}
    order = list(table)
    changed = True
    while changed:
        changed = False
        order.reverse()  # rules may refer forwards or backwards: two rounds follow either
        for name in order:
            before = len(ends[name])
            for alternative in table[name]:
                tick(1 + len(alternative))
                for symbol in reversed(alternative) if last else alternative:
                    ends[name] |= _ends_of(symbol, ends)
                    if not nullable_symbol(symbol, nullables):
                        break
            changed |= len(ends[name]) > before
    return ends


def _ends_of(symbol: TableSymbol, ends: Mapping[str, set[Terminal]]) -> set[Terminal]:
    inner = _inner(symbol)
    if isinstance(inner, Part):  # FIRST and LAST are needed for lexer="greedy" only, which has no parts
        return set()
    return ends[inner] if isinstance(inner, str) else {inner}


def adjacent_pairs(table: Table) -> dict[tuple[Terminal, Terminal], None]:
    """The pairs (A, B) of terminals such that B can come directly after A."""
    nullables = nullable_rules(table)
    first, last = _ends(table, nullables, last=False), _ends(table, nullables, last=True)
    pairs: dict[tuple[Terminal, Terminal], None] = {}
    for alternatives in table.values():
        for alternative in alternatives:
            for i, left in enumerate(alternative):
                tick(8)
                if isinstance(left, Counted):
                    pairs |= {(a, b): None for a in _ends_of(left, last) for b in _ends_of(left, first)}
                for right in alternative[i + 1 :]:
                    pairs |= {(a, b): None for a in _ends_of(left, last) for b in _ends_of(right, first)}
                    if not nullable_symbol(right, nullables):
                        break
    return pairs


def swallowed_pairs(table: Table, ignore: tuple[Terminal, ...]) -> list[tuple[Terminal, Terminal]]:
    """Adjacent terminals (A, B) that can never meet under `lexer="greedy"`: A's longest match takes the beginning of B.

    The test: any text of A followed by any first character of B is a text of A again. Then no text is lexed as A
    directly followed by B, but the parser may still wait for B after A: a dead end. Exact if the first character of B
    decides; pairs that collide only from the second character on are missed. Pairs that an ignored terminal can
    separate are not reported, unless A swallows that terminal too.
    """
    cache: dict[tuple[Terminal, syntax.Ranges], bool] = {}

    def swallows(a: Terminal, b: Terminal) -> bool:
        key = a, first_characters(b.node)
        if key not in cache:
            tick(8)
            longer = syntax.concat(a.node, syntax.chars(key[1]))
            cache[key] = not finite_node(a.node) and empty_node(syntax.difference(longer, a.node))
        return cache[key]

    pairs = adjacent_pairs(table)
    swallowed = [(a, b) for a, b in pairs if swallows(a, b) and all(swallows(a, blank) for blank in ignore)]
    return sorted(swallowed, key=lambda pair: (pair[0].name, pair[1].name))


def outranked(table: Table, ignore: tuple[Terminal, ...]) -> list[tuple[Terminal, Terminal]]:
    """Pairs (winner, loser) of terminals with the same syntax tree, where the winner has the higher rank.

    Under `lexer="greedy"` the loser is never taken where both may stand. Cost: linear in the terminals.
    """
    ranks: dict[Node, dict[Terminal, None]] = {}
    for terminal in [*terminals(table), *ignore]:
        ranks.setdefault(terminal.node, {})[terminal] = None
    pairs: list[tuple[Terminal, Terminal]] = []
    for same in ranks.values():
        first, *others = sorted(same, key=_rank, reverse=True)
        pairs += [(first, other) for other in others if _rank(other) < _rank(first)]
    return pairs


def _rank(terminal: Terminal) -> tuple[int, bool]:
    return terminal.priority, terminal.literal


def left_associative(table: Table) -> Table:
    """An equivalent, less ambiguous grammar: `s: s x s | y` becomes `s: s x s# | s#` and `s#: y`.

    A text of such a rule is a sequence of `y` with an `x` between any two, whatever its derivation, so left-associative
    derivations suffice. In `s: s s s` all but the first `s` are replaced.
    """
    flat: Table = {}
    for name, alternatives in table.items():
        inner = f"{name}#"  # no rule of a grammar text can have this name
        joined = [a for a in alternatives if len(a) > 1 and a[0] == a[-1] == name]
        if joined:
            middles = [(inner,) * (len(a) - 2) if set(a) == {name} else a[1:-1] for a in joined]
            flat[name] = ((inner,), *((name, *middle, inner) for middle in middles))
            flat[inner] = tuple(a for a in alternatives if a not in joined)
        else:
            flat[name] = alternatives
    return flat


def finite_node(node: Node) -> bool:
    """True if the language is finite by its tree. Under `&` and complement the answer may be False for a finite one."""
    if isinstance(node, syntax.Intersect):
        return any(map(finite_node, node.args))
    if isinstance(node, syntax.Complement) or (isinstance(node, syntax.Repeat) and node.high is None):
        return False
    return all(finite_node(part) for part in node.args if isinstance(part, Node))
