"""Declarations of records: a class for each kind, whose attributes become offsets.

The idea: an int32 array has no names, so each kind of record, region, frame or message gets a class with its fields in
order, and what they mean. `A[c + CONFIG.MASK]` is the word MASK of the configuration c; compiled, it is `A[c + 3]`
(compiler/accessors.py).

    class CONFIG(Record, kind=18):       record     a head word, MEMO memo words, key words
        GRAMMAR = key("...")                        key words, in order; `keys` are repeated up to the end
        MASK = memo("...")                          memo words, 0 = unknown
    class BLOCK(Region):                 region     words one after the other, without a head
        TAGSET = word("...")
        SURVIVORS = words(8, "...")

`CONFIG.KIND` is the number of the kind, `BLOCK.WORDS` how many words a block has. A field is an int that knows what was
declared of it: called, it is an accessor, and `describe` (view.py) prints any record; `DECLARED` lists all
declarations. A region may extend another one: its words come behind.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.compiler.accessors import RecordLayout, accessor

Int32 = NDArray[np.int32]
MEMO = 8  # memo words of a record
KEY = MEMO + 1  # offset of its first key word
KIND_BITS = 6  # of the head word; the bits above are the number of key words
KIND_MASK = (1 << KIND_BITS) - 1

DECLARED: dict[str, type[RecordLayout]] = {}


class Field(int):
    """The offset of a field, and its accessor: `CONFIG.MASK(A, c)` is `A[c + CONFIG.MASK]` as an int64.

    Of a column, `PAIRS.STATE(P, i)` is `P[P[PAIRS.STATE] + i]`. meaning: what was declared. words: how many it has, 0:
    up to the end.
    """

    meaning: str
    words: int
    is_column: bool

    @property
    def accessor(self) -> Callable[..., int]:
        """The function whose expression stands in kernels in place of a call."""
        return _reader(int(self), self.is_column)

    def __call__(self, A, at):
        return int(A[int(A[self]) + int(at)] if self.is_column else A[int(at) + self])


@functools.cache
def _reader(offset: int, is_column: bool) -> Callable[..., int]:
    def read(A, record):
        return np.int64(A[record + offset])

    def read_column(A, i):
        return np.int64(A[A[offset] + i])

    return read_column if is_column else read


@dataclass(frozen=True)
class _Field:
    place: str
    meaning: str
    words: int = 1
    is_column: bool = False

    def at(self, offset: int) -> Field:
        """The field, once its place is known."""
        field = Field(offset)
        field.meaning, field.words, field.is_column = self.meaning, self.words, self.is_column
        return field


def key(meaning: str) -> Field:
    """A key word: records of one kind with equal key words are one record."""
    return cast(Field, _Field("key", meaning))


def keys(meaning: str) -> Field:
    """Declare the first of the key words that are repeated up to the end of the record."""
    return cast(Field, _Field("key", meaning, 0))


def memo(meaning: str) -> Field:
    """A memo word: 0 as long as it is unknown, then its one answer."""
    return cast(Field, _Field("memo", meaning))


def word(meaning: str) -> Field:
    """A word of a region, a frame or a message."""
    return cast(Field, _Field("word", meaning))


def column(meaning: str) -> Field:
    """A word of the first region of an array: where a column begins."""
    return cast(Field, _Field("word", meaning, is_column=True))


def words(number: int, meaning: str) -> Field:
    """The first of several words; 0: up to the end."""
    return cast(Field, _Field("word", meaning, number))


class _Declared(RecordLayout):
    FIELDS: ClassVar[dict[str, Field]] = {}
    WORDS: ClassVar[int]

    @classmethod
    def _declare(cls, first: dict[str, int]) -> dict[str, int]:
        """Give each field of the class its offset. first: where the fields of each place begin; returns their ends."""
        assert cls.__name__ not in DECLARED, f"{cls.__name__} is declared twice"
        DECLARED[cls.__name__] = cls
        cls.FIELDS = dict(cls.FIELDS)
        ends = dict(first)
        for name, field in list(cls.__dict__.items()):
            if isinstance(field, _Field):
                cls.FIELDS[name] = field.at(ends[field.place])
                setattr(cls, name, cls.FIELDS[name])
                ends[field.place] += field.words
        return ends


class Region(_Declared):
    """Words one after the other: a region of the arena, a frame on the scratch stack, or a message from Python."""

    WORDS = 0

    def __init_subclass__(cls, *, size: int = 0, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.WORDS = cls._declare({"word": cls.WORDS})["word"]
        assert size == 0 or size >= cls.WORDS
        cls.WORDS = size or cls.WORDS


class Record(_Declared):
    """A hash-consed record. A class without a kind declares the memo words that several kinds share."""

    KIND: ClassVar[int]
    KEY_WORDS: ClassVar[int]
    KINDS: ClassVar[dict[int, type[Record]]] = {}

    def __init_subclass__(cls, *, kind: int = 0, **options: Any) -> None:
        super().__init_subclass__(**options)
        ends = cls._declare({"memo": 1 + len(cls.FIELDS), "key": KEY})
        assert ends["memo"] <= KEY, f"{cls.__name__} has too many memo words"
        cls.WORDS = ends["key"]
        cls.KEY_WORDS = cls.WORDS - KEY
        if kind:
            assert Record.KINDS.setdefault(kind, cls) is cls and kind <= KIND_MASK
            cls.KIND = kind


def end_reader(start: int, count: int, width: int = 1) -> Callable[..., int]:
    """The accessor of where rows of `width` words end that begin where the field `start` says."""
    at, number = int(start), int(count)

    def read(A, record):
        return np.int64(A[record + at]) + width * np.int64(A[record + number])

    return _documented(read, start)


def row_reader(field: int, width: int) -> Callable[..., int]:
    """The accessor of a field of rows of `width` words: `row(A, first, k)` is `A[first + width * k + field]`."""
    offset = int(field)

    def read(A, first, k):
        return np.int64(A[first + width * k + offset])

    return _documented(read, field)


def _documented(read: Callable[..., int], field: int) -> Callable[..., int]:
    read.__doc__ = getattr(field, "meaning", "")
    return accessor(read)


def pack(layout: type[Region], **parts: Any) -> tuple[Int32, dict[str, Int32]]:
    """An array that holds a region. parts: of each field its number, or its column, an array of integers.

    Returns the array, and the columns in it by their fields.
    """
    columns = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    array = np.empty(layout.WORDS + sum(map(len, columns.values())), np.int32)
    array[: layout.WORDS] = 0
    views: dict[str, Int32] = {}
    at = layout.WORDS
    for name, part in parts.items():
        array[layout.FIELDS[name]] = at if name in columns else part
        if name in columns:
            views[name] = array[at : at + len(part)]
            views[name][:] = part
            at += len(part)
    return array, views
