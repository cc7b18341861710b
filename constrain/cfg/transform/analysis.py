"""What can be said about a grammar before any text is seen: nullable, productive, reachable, right-recursive;
adjacent terminals.

All functions work on a `Table` (see `ebnf`): rule name -> alternatives of symbols. Each is a least fixed point or a
graph search, as in Grune and Jacobs, "Parsing Techniques" (2nd ed.), sections 2.9 (useless rules) and 8.2 (FIRST and
FOLLOW sets).

Cost: linear in the table per round of a fixed point, and few rounds; `swallowed_pairs` decides one language inclusion
for each pair of terminals that can be neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from constrain.automata import syntax
from constrain.automata.syntax import Node
from constrain.cfg.ebnf import Counted, Part, Table, TableSymbol
from constrain.cfg.rules import Terminal


def nullable_node(node: Node) -> bool:
    """Does the regular language contain the empty text? Exact."""
    if isinstance(node, syntax.Literals):
        return "" in node.texts
    if isinstance(node, syntax.Acyclic):
        return node.accepting[0]
    if isinstance(node, syntax.Repeat):
        return node.low == 0 or nullable_node(node.node)
    if isinstance(node, syntax.Concat | syntax.Intersect):
        return all(map(nullable_node, node.args))
    if isinstance(node, syntax.Alternate):
        return any(map(nullable_node, node.args))
    if isinstance(node, syntax.Complement):
        return not nullable_node(node.args[0])
    return False  # Chars, JsonString


def empty_node(node: Node) -> bool:
    """Does the regular language contain no text at all? Exact."""
    from constrain.automata.decide import is_empty  # loads numba: only when a grammar is read

    return is_empty(node)


def derivable(table: Table, holds: Callable[[Terminal], bool]) -> set[str]:
    """The rules with an alternative all of whose terminals hold and all of whose rules are found: the least such set.

    A worklist, linear in the table (Dowling and Gallier 1984, for Horn clauses). `x~0..n` always holds, and so does
    a part: it is taken to derive some text (`parts` sees to it), and, to be on the safe side, the empty one too.
    """
    missing: list[set[str]] = []  # for each alternative: the rules not yet found
    owner: list[str] = []  # for each alternative: its rule
    waiting: dict[str, list[int]] = {}  # rule -> the alternatives that miss it
    ready: list[str] = []
    for name, alternatives in table.items():
        for alternative in alternatives:
            needed = [_inner(s) for s in alternative if not (isinstance(s, Counted) and s.low == 0)]
            if all(not isinstance(each, Terminal) or holds(each) for each in needed):
                missing.append({each for each in needed if isinstance(each, str)})
                owner.append(name)
                for each in missing[-1]:
                    waiting.setdefault(each, []).append(len(owner) - 1)
                if not missing[-1]:
                    ready.append(name)
    found: set[str] = set()
    while ready:
        name = ready.pop()
        if name not in found:
            found.add(name)
            for index in waiting.get(name, ()):
                missing[index].discard(name)
                if not missing[index]:
                    ready.append(owner[index])
    return found


def _inner(symbol: TableSymbol) -> str | Terminal | Part:
    return symbol.symbol if isinstance(symbol, Counted) else symbol


def nullable_rules(table: Table) -> set[str]:
    """The rules that derive the empty text."""
    return derivable(table, lambda terminal: nullable_node(terminal.node))


def nullable_symbol(symbol: TableSymbol, rules: set[str]) -> bool:
    """Does the symbol derive the empty text, given the nullable rules? A part may."""
    if isinstance(symbol, Counted):
        return symbol.low == 0 or nullable_symbol(symbol.symbol, rules)
    if isinstance(symbol, Part):
        return True
    return symbol in rules if isinstance(symbol, str) else nullable_node(symbol.node)


def productive_rules(table: Table) -> set[str]:
    """The rules that derive some text."""
    return derivable(table, lambda terminal: not empty_node(terminal.node))


def without_unproductive(table: Table) -> Table:
    """The table without the alternatives that derive nothing; rules that lose all of theirs are gone.

    `x~0..n` of an unproductive x is the empty text.
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
            written = ([s for s in a if productive(s) or not _may_be_left_out(s)] for a in table[name])
            pruned[name] = tuple(dict.fromkeys(tuple(a) for a in written if all(map(productive, a))))
    return pruned


def _may_be_left_out(symbol: TableSymbol) -> bool:
    return isinstance(symbol, Counted) and symbol.low == 0


def reachable_rules(table: Table, start: str) -> set[str]:
    """The rules that the start rule leads to, itself included."""
    found, stack = {start}, [start]
    while stack:
        new = {name for a in table[stack.pop()] for name in map(_rule_of, a) if name is not None} - found
        found |= new
        stack += new
    return found


def _rule_of(symbol: TableSymbol) -> str | None:
    inner = _inner(symbol)
    return inner if isinstance(inner, str) else None


def terminals(table: Table) -> dict[Terminal, None]:
    """Every terminal of the table, in order of appearance."""
    inner = (_inner(symbol) for alternatives in table.values() for a in alternatives for symbol in a)
    return {symbol: None for symbol in inner if isinstance(symbol, Terminal)}


def right_recursive_rules(table: Table) -> frozenset[str]:
    """The rules that lead back to themselves through last symbols, trailing nullable symbols skipped."""
    nullable = nullable_rules(table)
    tails: dict[str, list[str]] = {}
    for name, alternatives in table.items():
        tails[name] = found = []
        for alternative in alternatives:
            for symbol in reversed(alternative):
                rule = _rule_of(symbol)
                found += [rule] if rule is not None else []
                if not nullable_symbol(symbol, nullable):
                    break
    return on_cycles(tails)


def on_cycles(edges: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The nodes of a graph that can reach themselves (Tarjan's strongly connected components, without recursion)."""
    number: dict[str, int] = {}  # order of first visit
    low: dict[str, int] = {}  # smallest number on the path that the node leads back to
    path: list[str] = []  # visited, component not yet complete
    on_path: set[str] = set()
    cyclic = {node for node, targets in edges.items() if node in targets}
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
                    cyclic.update(component if len(component) > 1 else ())
    return frozenset(cyclic)


def _ends(table: Table, nullable: set[str], last: bool) -> dict[str, set[Terminal]]:
    """FIRST (or, with last=True, LAST) of every rule: the terminals that a text of it can begin (end) with."""
    ends: dict[str, set[Terminal]] = {name: set() for name in table}
    order = list(table)
    changed = True
    while changed:
        changed = False
        order.reverse()  # chains of rules are written in either direction: two rounds for each
        for name in order:
            before = len(ends[name])
            for alternative in table[name]:
                for symbol in reversed(alternative) if last else alternative:
                    ends[name] |= _ends_of(symbol, ends)
                    if not nullable_symbol(symbol, nullable):
                        break
            changed |= len(ends[name]) > before
    return ends


def _ends_of(symbol: TableSymbol, ends: Mapping[str, set[Terminal]]) -> set[Terminal]:
    inner = _inner(symbol)
    if isinstance(inner, Part):  # never under lexer="greedy", and only there anybody asks
        return set()
    return ends[inner] if isinstance(inner, str) else {inner}


def adjacent_pairs(table: Table) -> dict[tuple[Terminal, Terminal], None]:
    """The pairs (A, B) of terminals such that B can come directly after A."""
    nullable = nullable_rules(table)
    first, last = _ends(table, nullable, last=False), _ends(table, nullable, last=True)
    pairs: dict[tuple[Terminal, Terminal], None] = {}
    for alternatives in table.values():
        for alternative in alternatives:
            for i, left in enumerate(alternative):
                if isinstance(left, Counted):
                    pairs |= {(a, b): None for a in _ends_of(left, last) for b in _ends_of(left, first)}
                for right in alternative[i + 1 :]:
                    pairs |= {(a, b): None for a in _ends_of(left, last) for b in _ends_of(right, first)}
                    if not nullable_symbol(right, nullable):
                        break
    return pairs


def swallowed_pairs(table: Table, ignore: tuple[Terminal, ...]) -> list[tuple[Terminal, Terminal]]:
    """The neighbours (A, B) that can never meet under `lexer="greedy"`, because A's longest match takes the beginning
    of B.

    Decided by one character: appending to any text of A any character that B can begin with gives a text of A again.
    Then no text is lexed as A directly followed by B; the parser may still wait for B after A, so a viable prefix can
    be a dead end. Exact whenever the first character of B decides; a pair that collides only from its second
    character on is not found. A pair that an ignored terminal can separate is not reported, unless the ignored text
    is itself swallowed.
    """
    pairs = adjacent_pairs(table)
    known: dict[tuple[Terminal, Node], bool] = {}

    def swallows(a: Terminal, b: Terminal) -> bool:
        key = a, first_characters(b.node)
        if key not in known:
            longer = syntax.concat(a.node, key[1])
            known[key] = not finite_node(a.node) and empty_node(syntax.difference(longer, a.node))
        return known[key]

    found = [(a, b) for a, b in pairs if swallows(a, b) and all(swallows(a, blank) for blank in ignore)]
    return sorted(found, key=lambda pair: (pair[0].name, pair[1].name))


def outranked(table: Table, ignore: tuple[Terminal, ...]) -> list[tuple[Terminal, Terminal]]:
    """(winner, loser) of terminals with the same texts, one of which wins under `lexer="greedy"` where both may stand.

    The same texts: the same tree. Cost: linear in the terminals.
    """
    ranks: dict[Node, dict[Terminal, None]] = {}
    for terminal in [*terminals(table), *ignore]:
        ranks.setdefault(terminal.node, {})[terminal] = None
    found: list[tuple[Terminal, Terminal]] = []
    for same in ranks.values():
        first, *others = sorted(same, key=_rank, reverse=True)
        found += [(first, other) for other in others if _rank(other) < _rank(first)]
    return found


def _rank(terminal: Terminal) -> tuple[int, bool]:
    return terminal.priority, terminal.literal


def left_associative(table: Table) -> Table:
    """The same language with less ambiguity: `s: s x s | y` becomes `s: s x s# | s#` and `s#: y`.

    A text of such a rule is a sequence of `y` with an `x` between any two, whatever tree it was derived by; so the tree
    that leans to the left is enough. Of `s: s s s`, copies of the rule alone, all but the first are replaced.
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
    """Is the language visibly finite? (False may be wrong under `&` and complement.)"""
    if isinstance(node, syntax.Intersect):
        return any(map(finite_node, node.args))
    if isinstance(node, syntax.Complement) or (isinstance(node, syntax.Repeat) and node.high is None):
        return False
    return all(finite_node(each) for each in node.args if isinstance(each, Node))


def first_characters(node: Node) -> Node:
    """The characters that a text of the language can begin with, as a character set; it may be too large under `&`
    and complement."""
    if isinstance(node, syntax.Chars):
        return node
    if isinstance(node, syntax.Literals):
        return syntax.chars((ord(text[0]), ord(text[0])) for text in node.texts if text)
    if isinstance(node, syntax.Alternate):
        return _union(map(first_characters, node.args))
    if isinstance(node, syntax.Concat):
        found = []
        for part in node.args:
            found.append(first_characters(part))
            if not nullable_node(part):
                break
        return _union(found)
    if isinstance(node, syntax.Repeat):
        return first_characters(node.node)
    if isinstance(node, syntax.Intersect):  # the smallest of the parts' sets is a bound
        return min(map(first_characters, node.args), key=lambda part: sum(high - low + 1 for low, high in part.args[0]))
    return syntax.chars([(34, 34)]) if isinstance(node, syntax.JsonString) else syntax.ANY_CHAR


def _union(parts: Iterable[Node]) -> Node:
    return syntax.chars(each for part in parts for each in part.args[0])
