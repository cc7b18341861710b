"""The files of a tokenizer in the disk cache: read again they say the same, and damaged ones are made again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders

from constrain import Vocabulary
from constrain.languages.cuts import merges, piece_sets
from constrain.languages.cuts.merges import Merges
from constrain.languages.vocab import disk_cache, huggingface
from made_tokenizers import MADE


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the disk cache; small tokenizers are cached, too."""
    monkeypatch.setattr(disk_cache, "WORTHWHILE", 0)
    monkeypatch.setenv("CONSTRAIN_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The readers that were called since nothing was on disk."""
    built: list[str] = []

    def count(module: Any, name: str) -> None:
        real = getattr(module, name)

        def counted(*args: Any) -> Any:
            built.append(name)
            return real(*args)

        monkeypatch.setattr(module, name, counted)

    count(huggingface, "_fast_pieces")
    count(merges, "_rules_of")
    count(merges, "_rules_of_ranks")
    return built


def read(tokenizer: Tokenizer) -> tuple[Vocabulary, Merges]:
    """Read as another process does: vocabularies are kept with a tokenizer's object."""
    tokenizer = Tokenizer.from_str(tokenizer.to_str())
    vocabulary = Vocabulary.from_huggingface(tokenizer, eos_ids=[tokenizer.token_to_id("<end>")])
    return vocabulary, Merges.of(tokenizer, vocabulary)


def content(found: tuple[Vocabulary, Merges]) -> Any:
    vocabulary, made = found
    tables = [*made.tables, made.alone(), made.whole, made.byte_tokens]
    return vocabulary.tokens, vocabulary.names, made._characters, [table.tolist() for table in tables]


@pytest.mark.parametrize("name", MADE)
def test_read_again(name: str, cache_folder: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = MADE[name]()
    monkeypatch.setenv("CONSTRAIN_CACHE", "")
    expected = content(read(tokenizer))
    monkeypatch.setenv("CONSTRAIN_CACHE", str(cache_folder))
    builds.clear()
    assert content(read(tokenizer)) == expected
    assert content(read(tokenizer)) == expected
    assert builds == ["_fast_pieces", "_rules_of"]


def test_ranks_are_read_again(cache_folder: Path, builds: list[str]) -> None:
    ranks = {b"a": 0, b"b": 1, b"ab": 2, b"abb": 3}
    vocabulary = Vocabulary([*ranks, b"ba", None], eos_ids=[5])
    expected = content((vocabulary, Merges.of_ranks(ranks, vocabulary)))
    assert content((vocabulary, Merges.of_ranks(ranks, vocabulary))) == expected
    assert builds == ["_rules_of_ranks"]
    more = Merges.of_ranks({**ranks, b"ba": 4}, vocabulary)
    assert [made.together(1, 0) for made in (Merges.of_ranks(ranks, vocabulary), more)] == [True, False]
    assert builds == ["_rules_of_ranks"] * 2


def test_another_decoder_has_other_pieces(cache_folder: Path) -> None:
    tokenizer = MADE["sentencepiece"]()
    before = read(tokenizer)[0].tokens
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    after = read(tokenizer)[0].tokens
    assert before != after
    assert "▁a".encode() in after
    assert b" a" in before


def test_added_tokens_are_read_each_time(cache_folder: Path) -> None:
    tokenizer = MADE["sentencepiece"]()
    size = len(read(tokenizer)[0].tokens)
    tokenizer.add_tokens(["<more>"])
    assert read(tokenizer)[0].tokens[size:] == [b"<more>"]


def damage(kind: str, change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (path,) = folder.glob(f"{kind}-*.npz")
        with np.load(path) as file:
            found = {name: file[name].copy() for name in file.files}
        change(found)
        np.savez(path, **found)

    return apply


def setter(kind: str, name: str, index: Any, value: int) -> Callable[[Path], None]:
    return damage(kind, lambda found: found[name].__setitem__(index, value))


DAMAGE = {
    "a length below none": setter("pieces", "lengths", 0, -2),
    "a length beyond the text": setter("pieces", "lengths", 3, 10**6),
    "lengths of another type": damage("pieces", lambda found: found.update(lengths=found["lengths"] * 1.0)),
    "text is missing": damage("pieces", lambda found: found.pop("text")),
    "a symbol beyond the vocabulary": setter("merges", "symbols", 3, 10**6),
    "a symbol below none": setter("merges", "symbols", 3, -2),
    "starts that fall": setter("merges", "starts", 3, 10**6),
    "starts of another vocabulary": damage("merges", lambda found: found.update(starts=found["starts"][:-1])),
    "a merge of a token that does not exist": setter("merges", "merges", (0, 0), 10**6),
    "a merge that makes a negative token": setter("merges", "merges", (0, 2), -1),
    "merges out of order": setter("merges", "merges", (0, 3), 10**6),
    "a byte that is none": setter("merges", "byte_tokens", (0, 0), 256),
    "a byte's token that does not exist": setter("merges", "byte_tokens", (0, 1), 10**6),
    "characters of other lengths": setter("merges", "lengths", 0, 7),
    "a character without bytes": setter("merges", "lengths", 0, 0),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_files_are_built_again(kind: str, cache_folder: Path, builds: list[str]) -> None:
    tokenizer = MADE["sentencepiece"]()
    expected = content(read(tokenizer))
    DAMAGE[kind](cache_folder)
    for _ in range(2):
        assert content(read(tokenizer)) == expected
    assert len(builds) == 3  # the one that was damaged, once more


@pytest.mark.parametrize("damaged", [None, [], [9, 5], [0x110000], [-1.0]])
def test_sets_of_characters_are_asked_of_an_engine_once(
    damaged: list[float] | None, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    changes = piece_sets._changes
    monkeypatch.setattr(piece_sets, "_changes", lambda engine, text: asked.append(text) or changes(engine, text))
    read_anew = piece_sets.members.__wrapped__
    expected = read_anew(("tokenizers", r"\p{N}")).tolist()
    (file,) = cache_folder.iterdir()
    if damaged:
        array = np.array(damaged, np.float64 if damaged[0] < 0 else np.uint32)
        np.savez(file, key=np.load(file)["key"], changes=array)
    elif damaged is not None:
        file.write_bytes(b"no archive")
    assert read_anew(("tokenizers", r"\p{N}")).tolist() == expected
    assert len(asked) == (1 if damaged is None else 2)
    assert read_anew(("text", "ab")).tolist() == [97, 98, 98, 99] and len(list(cache_folder.iterdir())) == 1


def test_sources_that_cannot_be_read_have_no_files(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "kind_of", lambda name, *files: None)
    read(MADE["sentencepiece"]())
    assert list(cache_folder.iterdir()) == []


def test_kinds_change_with_their_sources(tmp_path: Path) -> None:
    source = tmp_path / "source.py"
    source.write_text("a = 1")
    one = disk_cache.kind_of("pieces", str(source))
    source.write_text("a = 2")
    assert one != disk_cache.kind_of("pieces", str(source))
    assert disk_cache.kind_of("pieces", str(tmp_path / "none.py")) is None
