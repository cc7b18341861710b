"""The door to our own files: what others may have written stays shut, locks empty nothing, a write is whole or none."""

import os
from pathlib import Path

import pytest

from constrain import files
from constrain.kernels.compiler import cache


def _victim(folder: Path) -> Path:
    path = folder / "victim"
    path.write_text("precious")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    "kind", ["nothing", "a link", "a pipe", "a folder", "others may write it", "a lock that is left"]
)
def test_a_lock_empties_nothing(kind: str, tmp_path: Path) -> None:
    victim, lock = _victim(tmp_path), tmp_path / "kernels-1.lock"
    if kind == "a link":
        lock.symlink_to(victim)
    elif kind == "a pipe":
        os.mkfifo(lock)
    elif kind == "a folder":
        lock.mkdir()
    elif kind != "nothing":
        lock.write_text("somebody's")
        lock.chmod(0o666 if kind.startswith("others") else 0o600)
    refused = kind not in ("nothing", "a lock that is left")
    with cache.only_one(lock.with_suffix(".bin"), lambda: None):
        assert victim.read_text() == "precious"
    assert victim.read_text() == "precious" and os.path.lexists(lock) == refused


def test_who_waits_goes_on_behind_a_lock_that_was_removed(tmp_path: Path) -> None:
    waited: list[int] = []
    first = files.only_one(tmp_path / "lock", lambda: None)
    first.__enter__()

    def waits() -> None:
        waited.append(1)
        first.__exit__(None, None, None)

    with files.only_one(tmp_path / "lock", waits):
        assert waited == [1] and (tmp_path / "lock").exists()
    assert not (tmp_path / "lock").exists()


OWNERS = [(0, 0o600, True), (0, 0o644, True), (0, 0o620, False), (0, 0o602, False), (12345, 0o600, False)]


@pytest.mark.parametrize("owner, mode, opens", OWNERS)
def test_owners_and_modes(owner: int, mode: int, opens: bool, tmp_path: Path) -> None:
    path = _victim(tmp_path)
    path.chmod(mode)
    if owner:
        if os.geteuid() != 0:
            pytest.skip("only the superuser gives files away")
        os.chown(path, owner, -1)
    if opens:
        assert files.read_own(path) == b"precious"
    else:
        with pytest.raises(files.ForeignFile, match="may be written by others"):
            files.read_own(path)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = _victim(tmp_path)
    with pytest.raises(TypeError), files.replacing(path) as file:
        file.writelines([b"half", 5])  # type: ignore[list-item]
    assert path.read_text() == "precious" and list(tmp_path.iterdir()) == [path]
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    with files.replacing(tmp_path / "link", 0o666) as file:
        file.write(b"new")
    assert (path.read_text(), path.stat().st_mode & 0o777, (tmp_path / "link").is_symlink()) == ("new", 0o640, True)


class BytesLocked:
    """A stand-in for `msvcrt`: a byte of a file is locked by one descriptor, at the place where that one stands."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], int] = {}

    def locking(self, file: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        key = os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR)
        if self.held.setdefault(key, file) != file:
            raise PermissionError(13, "Permission denied")


def test_lines_are_locked_where_locks_are_of_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "msvcrt", BytesLocked())
    (tmp_path / "answers").write_bytes(b"a\nb\n")
    lines = files.Lines(tmp_path / "answers")
    with pytest.raises(BlockingIOError):
        files.Lines(tmp_path / "answers")
    lines.keep(1)
    lines.append(b"c")  # in another file of this name, which is locked too
    with pytest.raises(BlockingIOError):
        files.Lines(tmp_path / "answers")
    lines.close()
    assert (tmp_path / "answers").read_bytes() == b"a\nc\n"
