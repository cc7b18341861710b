"""Files of the library's own, as they should not be: answers of `map`, caches of a vocabulary.

A good file is cut, doubled, mixed and edited; a cache also gets other values at any place, other owners' modes, and
things that are no files. Oracle: `map` gives the same answers, or names what is wrong and leaves the file as it is; a
cache is the same tables or built again, and what was accepted is walked, so that a wrong index is a crash.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import constrain
import vocabularies
from constrain.languages.vocab import disk_cache
from fuzz import Target

INPUTS = [f"{letter}: " for letter in "abcdefg"]
CALL: dict[str, Any] = {"regex": "[0-9]{1,4}", "batch": 2, "seed": 1}
PIECES = [b"", b"\n", b"\r\n", b"\0", b"[", b"]" * 9, b"[]", b"{}", b"[{}]", b"null", b'"', b"\xff", b"\xe2\x80\xa8",
          b"[" * 9999, b'[{"index": 0}]', b"1" * 9999, b"\xef\xbb\xbf", b"x", b",", b"\\ud800"]  # fmt: skip


@functools.cache
def _good() -> tuple[Any, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answers"
        answers = constrain.map(constrain.reference.load(), INPUTS, out=out, **CALL).answers
        return answers, out.read_bytes()


def _edited(content: bytes, edits: list[list[Any]]) -> bytes:
    """A content after some edits: a kind, a place, and a length or what is written."""
    for kind, place, what in edits:
        lines = content.split(b"\n")
        line, at = place % len(lines), place % (len(content) + 1)
        piece = PIECES[what % len(PIECES)]
        if kind == "cut":
            content = content[:at]
        elif kind == "insert":
            content = content[:at] + piece + content[at:]
        elif kind == "overwrite":
            content = content[:at] + piece + content[at + len(piece) :]
        elif kind == "line":
            content = b"\n".join([*lines[:line], piece, *lines[line + what % 2 :]])
        elif kind == "again":
            content = b"\n".join([*lines[:line], *lines[what % len(lines) :]])
    return content


def check_answers(case: Any) -> None:
    """A file of answers that was edited."""
    answers, good = _good()
    content = _edited(good, case)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answers"
        out.write_bytes(content)
        fault = None
        try:
            found = constrain.map(constrain.reference.load(), INPUTS, out=out, **CALL).answers
        except constrain.ConstrainError as error:
            fault = error
        if fault is not None:
            assert fault.place and fault.fix and out.read_bytes() == content, fault
            return
        assert [each.index for each in found] == list(range(len(answers)))
        language = constrain.regex(CALL["regex"])
        assert all(each.finish_reason != "stop" or language.accepts(each.text) for each in found)
        assert constrain.map(constrain.reference.load(), INPUTS, out=out, **CALL).answers == found


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["cut", "insert", "overwrite", "line", "again"]), st.integers(0, 2**14), st.integers(0, 99)
    ).map(list),
    min_size=1,
    max_size=3,
)

# --- caches -----------------------------------------------------------------------------------------------------------

VALUES = [-(2**31), -2, -1, 0, 1, 2, 7, 255, 270, 271, 272, 4096, 2**31 - 1]
KINDS = ["values", "bytes", "mode", "pipe", "folder", "link", "zeros", "pickle"]


@contextlib.contextmanager
def _cached() -> Iterator[Path]:
    """The folder of caches, for small vocabularies too."""
    before = os.environ.get("CONSTRAIN_CACHE"), disk_cache.WORTHWHILE
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CONSTRAIN_CACHE"], disk_cache.WORTHWHILE = folder, 0
        try:
            yield Path(folder)
        finally:
            os.environ.pop("CONSTRAIN_CACHE")
            os.environ.update({} if before[0] is None else {"CONSTRAIN_CACHE": before[0]})
            disk_cache.WORTHWHILE = before[1]


def _spoiled(path: Path, case: Any) -> None:
    """Make a file of a cache what a case says."""
    if case["kind"] in ("values", "pickle"):
        with np.load(path) as file:
            arrays = {name: file[name].copy() for name in file.files}
        for which, place, value in case["changes"]:
            names = [name for name in arrays if name != "key"]
            array = arrays[names[which % len(names)]].reshape(-1)
            with contextlib.suppress(OverflowError):
                array[place % max(len(array), 1) : place % max(len(array), 1) + 1 + place % 3] = VALUES[
                    value % len(VALUES)
                ]
        if case["kind"] == "pickle":
            arrays["whole.byte"] = np.array([{}], dtype=object)
        np.savez(path, **arrays)  # type: ignore[arg-type]
    elif case["kind"] == "bytes":
        edits = [["overwrite", place * 7919, value] for _, place, value in case["changes"]]
        path.write_bytes(_edited(path.read_bytes(), edits))
    elif case["kind"] == "mode":
        path.chmod(0o622)
    else:
        path.unlink()
        {
            "pipe": lambda: os.mkfifo(path),
            "folder": path.mkdir,
            "link": lambda: path.symlink_to("nowhere"),
            "zeros": lambda: path.symlink_to("/dev/zero"),
        }[case["kind"]]()


def check_cache(case: Any) -> None:
    """A file of a vocabulary's tables."""
    with _cached() as folder:
        first = vocabularies.fresh("tiny")
        _ = first.trie
        (path,) = folder.iterdir()
        _spoiled(path, case)
        again = vocabularies.fresh("tiny")
        for pattern in ("[ab]*", r"(?s:.*)", r"\w+ \w+"):
            matcher = constrain.compile(constrain.regex(pattern), again).matcher()
            matcher.fill_mask(np.zeros(again.words, np.uint32))
        _ = again.slices
        if case["kind"] in ("pipe", "link", "zeros", "mode", "pickle"):
            assert (again.trie.byte == first.trie.byte).all() and (path.is_symlink(), path.is_file()) == (False, True)


CACHES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["values"] * 8 + KINDS),
        "changes": st.lists(
            st.tuples(st.integers(0, 99), st.integers(0, 2**14), st.integers(0, 99)).map(list), max_size=3
        ),
    }
)

TARGETS = [
    Target("answer-files", EDITS, check_answers, 40),
    Target("cache-files", CACHES, check_cache, 150),
]
