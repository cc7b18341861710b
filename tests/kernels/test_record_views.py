"""`describe` prints any record by its declaration, and accessors read the words that they are declared to read."""

import numpy as np
import pytest

from constrain.gaps.kernels import records as gaps
from constrain.kernels.compiler.accessors import RecordLayout
from constrain.kernels.records import (
    arena,
    configurations,
    dynamic_tables,
    expressions,
    grammars,
    greedy_tables,
    key_sets,
    masks,
    messages,
    parser_states,
    vocabulary,
)
from constrain.kernels.records.schema import DECLARED, MEMO, Record, Region, end_reader
from constrain.kernels.records.view import describe
from constrain.languages.automata.store import Store

MODULES = (
    arena, configurations, dynamic_tables, expressions, gaps, grammars, greedy_tables, key_sets, masks, messages,
    parser_states, vocabulary,
)  # fmt: skip


def test_a_record_says_what_it_is() -> None:
    store = Store()
    record = arena.intern2(store.memory.A, store.memory.H, expressions.CAT.KIND, 64, 73)
    store.memory.A[record + expressions.CAT.FLAGS] = 12
    lines = describe(store.memory.A, record).splitlines()
    assert lines[0] == f"CAT at {record}"
    assert [line.split()[:2] for line in lines[-2:]] == [["HEAD", "64"], ["TAIL", "73"]]
    assert "  FLAGS        12  bits: NULLABLE ...; set when the record is made" in lines


def test_key_words_up_to_the_end() -> None:
    store = Store()
    record = arena.intern3(store.memory.A, store.memory.H, expressions.ALT.KIND, 5, 6, 7)
    last = describe(store.memory.A, record).splitlines()[-1]
    assert last == "  PARTS     [5, 6, 7]  expressions, sorted, distinct; at most one is a set of bytes"


def test_a_region_is_named_by_the_caller() -> None:
    words = np.arange(100, 120, dtype=np.int32)
    text = describe(words, 2, greedy_tables.GREEDY_BLOCK)
    assert [line.split()[:2] for line in text.splitlines()] == [
        ["GREEDY_BLOCK", "at"], ["TAGSET", "102"], ["ENDS", "103"], ["N_ENDS", "104"], ["PAIR", "105"],
        ["CONTENT", "106"],
    ]  # fmt: skip
    assert describe(words, 0, grammars.LIST).splitlines()[2].split() == ["ITEMS", "...", "the", "records"]


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_every_declaration_can_be_read(name: str) -> None:
    """Each field is one line with its word and its meaning, whichever layout it is of."""
    layout: type[RecordLayout] = DECLARED[name]
    words = np.arange(2000, dtype=np.int32)
    if issubclass(layout, Record) and "KIND" in layout.__dict__:
        words[0] = layout.KIND | (layout.KEY_WORDS << 6)
        text = describe(words, 0)
    else:
        assert issubclass(layout, (Region, Record))
        text = describe(words, 0, layout)  # type: ignore[arg-type]
    assert len(text.splitlines()) == 1 + len(layout.FIELDS)  # type: ignore[attr-defined]
    for line, (field, offset) in zip(text.splitlines()[1:], layout.FIELDS.items(), strict=True):  # type: ignore[attr-defined]
        assert line.startswith(f"  {field} ")
        assert offset.meaning and line.endswith(offset.meaning)
        assert offset.words != 1 or line.split()[1] == str(int(offset))


def test_fields_are_one_behind_the_other() -> None:
    """Key words behind memo words, and the words of a layout behind those of the one that it extends."""
    assert expressions.CAT.HEAD == MEMO + 1
    assert greedy_tables.GREEDY_BLOCK.PAIR == masks.BLOCK.WORDS
    assert dynamic_tables.DYNAMIC_BLOCK.TAGSET == masks.BLOCK.TAGSET == 0
    assert greedy_tables.GREEDY_TABLE.WORDS == masks.TABLE.WORDS + 1


def test_derived_accessors() -> None:
    words = np.array([3, 10, 20, 30, 4, 5], np.int32)
    assert masks.TOKENS.LIST(words, 0) == 10
    assert end_reader(masks.TOKENS.COUNT, masks.TOKENS.LIST, 2)(words, 0) == 3 + 2 * 10
    words[gaps.PAIRS.STATE] = 2
    assert gaps.PAIRS.STATE(words, 3) == words[2 + 3]
