"""Kernels that are compiled on this machine: found again by the next process, thrown away when any kernel file is
edited, and compiled again whatever happens to the file that keeps them."""

import hashlib
import os
import pickle
import resource
from pathlib import Path

import pytest
from small_package import ALL, FIRST, RESULTS, SmallPackage

from constrain.kernels.compiler import cache


@pytest.fixture
def package(tmp_path: Path) -> SmallPackage:
    return SmallPackage(tmp_path)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that a first start leaves."""
    package = SmallPackage(tmp_path_factory.mktemp("kept"))
    package.ask()
    return only_file(package)


def put(content: bytes, kept: Path, package: SmallPackage) -> None:
    """Put this in the place of the file."""
    package.cache.mkdir()
    (package.cache / kept.name).write_bytes(content)


def only_file(package: SmallPackage) -> Path:
    (path,) = package.cache.glob("*.bin")
    return path


def test_the_cache_is_used_and_notices_an_edit_in_another_file(package: SmallPackage) -> None:
    cold = package.ask()
    assert (cold["was_ready"], cold["compiled"], cold["results"]) == (False, ALL, RESULTS)
    warm = package.ask()
    assert (warm["was_ready"], warm["compiled"], warm["results"]) == (True, [], RESULTS)
    package.write_first(FIRST.replace("+ 5", "+ 6"))
    edited = package.ask()
    assert (edited["was_ready"], edited["compiled"], edited["results"]) == (False, ALL, [18, 10])
    assert package.ask()["compiled"] == []


def test_sources_that_are_edited_after_they_were_imported(package: SmallPackage) -> None:
    """A checkout changes while a process starts: the code that it has is not kept as that of the new sources."""
    edit = (
        "from pathlib import Path; Path(first.__file__).write_text(Path(first.__file__).read_text().replace('5', '6'))"
    )
    assert package.ask(before=edit)["results"] == RESULTS
    after = package.ask()
    assert (after["compiled"], after["results"]) == (ALL, [18, 10])


def test_of_four_processes_that_start_cold_one_compiles(package: SmallPackage) -> None:
    found = [package.end(process) for process in [package.begin() for _ in range(4)]]
    assert [each["results"] for each in found] == [RESULTS] * 4
    assert sorted(each["compiled"] for each in found) == [[], [], [], ALL]
    assert not list(package.cache.glob("*.lock"))


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def of_another_numba(content: bytes) -> bytes:
    """With a checksum that fits what numba cannot read."""
    blobs = dict.fromkeys(pickle.loads(content[32:]), pickle.dumps(("nothing",)))
    return hashlib.sha256(pickle.dumps(blobs)).digest() + pickle.dumps(blobs)


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 3]


def emptied(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [flipped, truncated, emptied, of_another_numba])
def test_a_damaged_file_is_replaced(damage, kept: Path, package: SmallPackage) -> None:
    put(damage(kept.read_bytes()), kept, package)
    found = package.ask()
    assert (found["results"], found["compiled"]) == (RESULTS, ALL)
    assert "compiled again" in found["stderr"]
    assert only_file(package).stat().st_size > 10_000


@pytest.mark.parametrize("others", ["may write", "own"])
def test_a_file_that_others_may_have_written_is_not_read(others: str, kept: Path, package: SmallPackage) -> None:
    """Reading runs what is in it."""
    if others == "own" and os.geteuid() != 0:
        pytest.skip("only the superuser gives files away")
    put(kept.read_bytes(), kept, package)
    path = only_file(package)
    if others == "own":
        os.chown(path, 12345, -1)
    else:
        path.chmod(0o666)
    found = package.ask()
    assert (found["compiled"], found["results"]) == (ALL, RESULTS)
    assert package.ask()["compiled"] == []  # the file is this user's again


def test_a_file_that_lacks_some_is_completed(kept: Path, package: SmallPackage) -> None:
    blobs = pickle.loads(kept.read_bytes()[32:])
    del blobs[next(name for name in blobs if ".twice:" in name)]
    content = pickle.dumps(blobs)
    put(hashlib.sha256(content).digest() + content, kept, package)
    assert package.ask()["compiled"] == ["twice"]
    assert package.ask()["compiled"] == []


def test_without_a_place_for_the_file(package: SmallPackage) -> None:
    """Read-only, or under what is no folder (root may write to any folder)."""
    package.cache.write_text("a file")
    found = package.ask(NUMBA_CACHE_DIR=str(package.cache / "below"))
    assert found["results"] == RESULTS and "cannot be kept" in found["stderr"]


def test_on_a_full_disk(package: SmallPackage) -> None:
    found = package.ask(limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    assert found["results"] == RESULTS and "cannot be kept" in found["stderr"]
    assert not [path for path in package.cache.iterdir() if path.stat().st_size]


READ_MEANWHILE = """
kernels.load()
names = [kernel.name for kernel in declare.jit.declared]
declare.jit._blobs.update({names[0]: b"read before"})
declare.jit.cache.read = lambda _path: dict.fromkeys(names, b"written by another process")
assert declare.jit._Job()._read()
"""


def test_what_others_wrote_meanwhile_is_read(package: SmallPackage) -> None:
    """A process that waited for another one has read less before."""
    assert package.ask(READ_MEANWHILE)["results"] == RESULTS


def test_versions_that_were_used_last_stay(tmp_path: Path) -> None:
    paths = [tmp_path / f"kernels-{i}.bin" for i in range(cache.VERSIONS + 1)]
    for time, path in enumerate(paths[:-1]):
        cache.write(path, {"kernel": b"code"})
        os.utime(path, (time, time))
    assert cache.read(paths[0]) == {"kernel": b"code"}
    cache.write(paths[-1], {})
    assert set(tmp_path.iterdir()) == {*paths} - {paths[1]}


INTERRUPTED = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it would be ignored
try:
    kernels.load(lambda done, total: os.kill(os.getpid(), signal.SIGINT))
except KeyboardInterrupt:
    print("interrupted")
    threads = __import__("threading").active_count()
"""


def test_an_interrupt_leaves_whole_kernels(package: SmallPackage) -> None:
    """A signal once came in the middle of a kernel: numba had "no compiled object yet" ever after."""
    process = package.begin(INTERRUPTED)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0 and out.startswith("interrupted"), err[-3000:]
    assert package.ask()["compiled"] == []


IMPATIENT = """
import threading
progress = sys.modules["constrain.kernels.compiler.progress"]
progress.PATIENCE, told = 0, threading.Event()
write, compile = progress.Line._write, declare.jit._Job._compile

def compile_once_told(job):  # however quick the compiler is
    job.is_compiling = True
    told.wait()
    compile(job)

declare.jit._Job._compile = compile_once_told
progress.Line._write = lambda line, *what: (write(line, *what), told.set())
"""


def test_who_waits_is_told(package: SmallPackage) -> None:
    """From the start, without a terminal too; nothing where nothing is compiled."""
    told = package.ask(IMPATIENT)["stderr"].splitlines()
    assert told[0] == "constrain: compiling kernels, once: 0 of 5"
    assert told[-1].startswith("constrain: kernels are ready after")
    assert package.ask(IMPATIENT)["stderr"] == ""
