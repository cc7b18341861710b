"""The disk cache: found again, never trusted blindly, never in the way."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vocabularies
from constrain.languages.vocab import disk_cache
from constrain.languages.vocab.slices import Slice
from constrain.languages.vocab.trie import Trie
from constrain.languages.vocab.vocabulary import Vocabulary


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the disk cache, not made yet; small vocabularies are cached too."""
    monkeypatch.setattr(disk_cache, "WORTHWHILE", 0)
    monkeypatch.setenv("CONSTRAIN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the vocabularies that were built, not read."""
    built: list[str] = []
    derive = Vocabulary._derive

    def counted(self: Vocabulary) -> Any:
        built.append(self.key)
        return derive(self)

    monkeypatch.setattr(Vocabulary, "_derive", counted)
    return built


def arrays(trie: Trie) -> list[list[int]]:
    return [each.tolist() for each in (trie.byte, trie.depth, trie.end, trie.token, trie.next_same)]


def content(vocabulary: Vocabulary) -> Any:
    def of(each: Slice) -> Any:
        return each.name, each.ranges, each.longest, each.tokens_by_length.tolist(), arrays(each.rest)

    return arrays(vocabulary.trie), [of(each) for each in vocabulary.slices]


def tiny() -> Vocabulary:
    return vocabularies.fresh("tiny")


def test_built_once(cache_folder: Path, builds: list[str]) -> None:
    first, second = tiny(), tiny()
    expected = content(first)
    assert [path.suffix for path in cache_folder.iterdir()] == [".npz"]
    assert content(second) == expected
    assert builds == [first.key]
    with pytest.raises(ValueError, match="read-only"):
        second.trie.byte[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        second.slices[0].tokens_by_length[0] = 1


def test_each_content_has_its_file(cache_folder: Path, builds: list[str]) -> None:
    one, other = Vocabulary([b"a", None], [1]), Vocabulary([b"b", None], [1])
    assert one.trie.byte.tolist() != other.trie.byte.tolist()
    assert len(builds) == len(list(cache_folder.iterdir())) == 2


def test_small_vocabularies_are_not_written(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "WORTHWHILE", 1000)
    assert len(tiny().slices) > 0
    assert not cache_folder.exists()


def damage(path: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    with np.load(path) as file:
        found = {name: file[name].copy() for name in file.files}
    change(found)
    np.savez(path, **found)  # type: ignore[arg-type]


def flip(path: Path) -> None:
    """Damage the nodes' bytes, so that only the checksum can tell."""
    data = bytearray(path.read_bytes())
    data[data.index(tiny().trie.byte.tobytes()) + 20] ^= 0xFF
    path.write_bytes(bytes(data))


def setter(name: str, index: Any, value: int) -> Callable[[Path], None]:
    return lambda path: damage(path, lambda found: found[name].__setitem__(index, value))


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("hello"),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "a flipped byte": flip,
    "a plain array": lambda path: np.save(path.open("wb"), np.zeros(3)),
    "a pickle": lambda path: np.savez(path, key=np.array([{}], dtype=object)),
    "another key": lambda path: damage(path, lambda found: found.update(key=np.array("0" * 64))),
    "an array is missing": lambda path: damage(path, lambda found: found.pop("word.masks")),
    "a wrong type": lambda path: damage(path, lambda found: found.update({"whole.end": found["whole.end"] * 1.0})),
    "a wrong length": lambda path: damage(path, lambda found: found.update({"whole.end": found["whole.end"][1:]})),
    "wrong rows": lambda path: damage(path, lambda found: found.update({"word.masks": found["word.masks"][1:]})),
    "an end that goes nowhere": setter("whole.end", 5, 5),
    "an end beyond the trie": setter("lower.end", -1, 10**6),
    "a depth of 0": setter("whole.depth", 0, 0),
    "a depth that skips": setter("whole.depth", 0, 2),
    "a token that does not exist": setter("word.token", 0, 271),
    "a link to itself": setter("next_same", 0, 0),
    "a link to other bytes": setter("next_same", 0, 5),
    "each node below the one before": lambda path: damage(
        path, lambda found: found["whole.depth"].__setitem__(slice(None), range(1, len(found["whole.depth"]) + 1))
    ),
    "siblings out of order": lambda path: damage(path, lambda found: _exchanged(found, "whole.byte", 0, 1)),
    "an end too far": lambda path: damage(path, lambda found: _exchanged(found, "whole.end", 2, 3)),
    "ends at the end": setter("words.end", slice(None), 2),
    "no tokens": setter("lower.token", slice(None), -1),
    "all tokens of a slice": setter("word.masks", slice(None), 0xFFFFFFFF),
    "fewer than in the row before": setter("word.masks", -1, 0),
    "a longest of many": lambda path: damage(path, lambda found: found.update({"word.longest": np.array(10**9)})),
    "a longest that is none": lambda path: damage(path, lambda found: found.update({"word.longest": np.array("x")})),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link": lambda path: path.symlink_to(path.rename(path.with_name("elsewhere"))),
    "a link to nothing": lambda path: (path.unlink(), path.symlink_to("nowhere")),
    "a link to zeros": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
    "others may write it": lambda path: path.chmod(0o666),
    "of another owner": lambda path: os.chown(path, 12345, -1) if os.geteuid() == 0 else path.chmod(0o620),
}


def _exchanged(found: dict[str, np.ndarray], name: str, one: int, other: int) -> None:
    places = np.flatnonzero(found["whole.depth"] == 1)[[one, other]]
    found[name][places] = found[name][places[::-1]]


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_files_are_built_again(kind: str, cache_folder: Path, builds: list[str]) -> None:
    expected = content(tiny())
    (path,) = cache_folder.iterdir()
    DAMAGE[kind](path)
    assert content(tiny()) == expected
    assert len(builds) == 2
    if kind == "a folder":
        return
    assert content(tiny()) == expected  # the good file has taken the place of the damaged one
    assert len(builds) == 2
    assert {each.name for each in cache_folder.iterdir()} - {"elsewhere"} == {path.name}


def test_a_folder_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CONSTRAIN_CACHE", str(tmp_path / "file" / "cache"))
    assert len(tiny().trie) > 256


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder(cache_folder: Path) -> None:
    cache_folder.mkdir()
    cache_folder.chmod(0o500)
    assert len(tiny().trie) > 256
    assert list(cache_folder.iterdir()) == []


@pytest.mark.parametrize("failing", ["os.fsync", "numpy.savez", "os.replace"])
def test_a_write_that_fails_is_left(failing: str, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(failing, fail)
    assert len(tiny().trie) > 256
    assert list(cache_folder.iterdir()) == []  # nothing half-written stays


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("CONSTRAIN_CACHE", "~/mine")
    assert disk_cache.folder() == tmp_path / "mine"
    monkeypatch.setenv("CONSTRAIN_CACHE", "")
    assert disk_cache.folder() is None
    monkeypatch.delenv("CONSTRAIN_CACHE")
    assert disk_cache.folder() == tmp_path / "xdg" / "constrain"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert disk_cache.folder() == tmp_path / ".cache" / "constrain"


def test_switched_off(monkeypatch: pytest.MonkeyPatch, builds: list[str]) -> None:
    monkeypatch.setenv("CONSTRAIN_CACHE", "")
    assert content(tiny()) == content(tiny())
    assert len(builds) == 2


def test_many_at_once(cache_folder: Path) -> None:
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(content(tiny()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(result == results[0] for result in results)
    assert len(list(cache_folder.iterdir())) == 1
