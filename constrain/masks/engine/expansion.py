"""Expands nonterminals: writes their alternatives into the arena when a text first needs them.

The idea: a kernel that meets a nonterminal without alternatives stops. Then it is expanded, together with what the
kernel will need next: to stop it for each costs more than to expand them.
"""

from __future__ import annotations

from typing import NamedTuple

from constrain.kernels.parser import configurations
from constrain.kernels.parser import rules as kernel_rules
from constrain.kernels.records import view
from constrain.kernels.records.arena import HEADER
from constrain.kernels.records.configurations import CONFIG, config_pair, pair_parser
from constrain.kernels.records.grammars import NONTERMINAL
from constrain.kernels.records.parser_states import PARSER
from constrain.languages.automata.memory import Flush
from constrain.languages.cfg.bulk_rules import PlacedNonterminal
from constrain.languages.cfg.rules import Nonterminal
from constrain.limits import tick
from constrain.masks.engine.bulk_rules import make_key_set_rules
from constrain.masks.engine.compiled_rules import CompiledRules
from constrain.masks.engine.symbol_table import WHOLE, SymbolTable
from constrain.masks.engine.templates import resolve

TAILS = 8  # right-recursive last symbols that are expanded together with their rules
MANY_AHEAD = 8  # nonterminals that are not expanded before they are needed
AHEAD = 3  # literal terminals that expansion looks beyond: a mask needs the symbols after them too


class UnexpandedNonterminals(NamedTuple):
    """The unexpanded nonterminals that a rule leads to.

    Attributes:
        first: In its left corner: at the beginning of alternatives, leading nullable symbols skipped.
        beyond: After literal terminals at the beginning of alternatives.
        tails: Right-recursive nonterminals at the end of alternatives.
    """

    first: list[int]
    beyond: list[int]
    tails: list[int]


def start_configuration(symbols: SymbolTable, rules: CompiledRules) -> int:
    """The configuration before the first byte of a text. The caller holds the lock."""
    memory = symbols.memory
    whole = symbols.nonterminal(WHOLE, symbols.shared)
    start = symbols.record(rules.grammar.start, rules)
    queue = [start]
    while queue:
        queue += expand(symbols, queue.pop(), ahead=False).first
    suffix = memory.call_plain(kernel_rules.suffix_of, start, 0)
    first = memory.call(configurations.start_configuration, symbols.settings(rules.grammar), whole, suffix)
    if rules.grammar.watched:
        memory.A[first + CONFIG.WATCHED] = 2
        memory.A[pair_parser(memory.A, config_pair(first, 0)) + PARSER.WATCHED] = 2
    return first


def expand_stopping(symbols: SymbolTable) -> None:
    """Expand the nonterminals that stopped a kernel, and the ones that it will need next."""
    A = symbols.memory.A
    stopping = sorted(set(view.unexpanded(A).tolist()))
    A[HEADER.N_UNEXPANDED] = 0
    tails = _expand_ahead(symbols, stopping, AHEAD)
    _expand_ahead(symbols, tails[:TAILS], 1)


def _expand_ahead(symbols: SymbolTable, queue: list[int], lexemes: int) -> list[int]:
    """Expand nonterminals, and what they lead to before `lexemes` literal terminals. Returns the tails."""
    tails: list[int] = []
    for _ in range(lexemes):
        following: list[int] = []
        while queue:
            unexpanded = expand(symbols, queue.pop())
            queue += unexpanded.first
            following += unexpanded.beyond
            tails += unexpanded.tails
        if len(following) > MANY_AHEAD:  # each may be as many again, and a token reaches few of them
            break
        queue = following
    return tails


def expand(symbols: SymbolTable, record: int, *, ahead: bool = True) -> UnexpandedNonterminals:
    """Expand a nonterminal, unless it is. Returns the unexpanded nonterminals that it leads to. Raises Flush.

    ahead: describe the objects that it may be, too.
    """
    rules = symbols.rules_with(record)
    if rules is None:  # its constraint was freed, so no matcher can reach it: clear the arena
        raise Flush
    unexpanded = UnexpandedNonterminals([], [], [])
    A = symbols.memory.A
    nonterminal = rules.waiting.get(record)
    if nonterminal is None and A[record + NONTERMINAL.PLACED] and not A[record + NONTERMINAL.ALTERNATIVES]:
        nonterminal = resolve(symbols, int(A[record + NONTERMINAL.PLACED]), rules, ahead)
    if nonterminal is None:
        return unexpanded
    by_keys = nonterminal.key_set_rules() if isinstance(nonterminal, PlacedNonterminal) else None
    if by_keys is not None:
        make_key_set_rules(symbols, record, by_keys, rules)
    else:
        _expand_one(symbols, record, nonterminal, rules, unexpanded)
    rules.waiting.pop(record, None)
    return unexpanded


def _expand_one(
    symbols: SymbolTable,
    record: int,
    nonterminal: Nonterminal,
    rules: CompiledRules,
    unexpanded: UnexpandedNonterminals,
) -> None:
    """Write the alternatives of a nonterminal, and note the unexpanded nonterminals that they lead to."""
    words: list[int] = []
    greedy = rules.grammar.lexer == "greedy"
    for alternative in nonterminal.expand():
        tick()
        records = symbols.records(alternative, rules)
        if 0 in records:
            continue  # a terminal with an empty language: the alternative is unproductive
        words.append(len(records))
        words += records
        if not records:
            symbols.nullable.add(record)
        reached = unexpanded.first
        for symbol, symbol_record in zip(alternative, records, strict=True):
            if isinstance(symbol, Nonterminal):
                if symbols.waits(symbol_record, rules):
                    reached.append(symbol_record)
                if symbol_record not in symbols.nullable:
                    break
            elif symbol.literal:
                reached = unexpanded.beyond
            else:
                break
        # PERF: under the greedy lexer the tails are blocks, at hundreds of columns: 0.2 s where one opens
        last = alternative[-1] if records and not greedy else None
        if isinstance(last, Nonterminal) and last.right_recursive and last.ahead:
            unexpanded.tails.append(records[-1])
    symbols.set_alternatives(record, words)
