"""Kernels that were compiled when the package was built: what Python sees of them is what it sees of numba's, but that
numba is not there."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_package import ALL, FIRST, RESULTS, SmallPackage

from native.platforms import PLATFORMS

EDITED = FIRST.replace("+ 5", "+ 6")
pytestmark = pytest.mark.skipif(shutil.which(os.environ.get("CC", "cc")) is None, reason="needs a C compiler")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> SmallPackage:
    """The small package with its library."""
    small = SmallPackage(tmp_path_factory.mktemp("native"))
    command = [sys.executable, "-m", "native.build", "--out", str(small.kernels / "compiler")]
    path = os.pathsep.join([str(small.folder), str(repository)])
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, cwd=small.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return small


def test_the_library_is_used(package: SmallPackage) -> None:
    found = package.ask()
    assert found == {**found, "mode": "native", "was_ready": True, "results": RESULTS, "numba": False, "stderr": ""}


@pytest.mark.parametrize(
    "environment, mode",
    [
        ({"CONSTRAIN_KERNELS": "native"}, "native"),
        ({"CONSTRAIN_KERNELS": "numba"}, "numba"),
        ({"CONSTRAIN_KERNELS": "python"}, "python"),
        ({"NUMBA_DISABLE_JIT": "1"}, "python"),
        ({"NUMBA_DISABLE_JIT": "0"}, "native"),
        ({"NUMBA_BOUNDSCHECK": "1"}, "numba"),
    ],
)
def test_the_mode_can_be_chosen(package: SmallPackage, environment: dict[str, str], mode: str) -> None:
    found = package.ask(**environment)
    assert (found["mode"], found["results"]) == (mode, RESULTS)


def test_a_library_of_other_sources_is_not_used(package: SmallPackage) -> None:
    package.write_first(EDITED)
    try:
        found = package.ask()
        assert (found["mode"], found["results"]) == ("numba", [18, 10])
        process = package.begin(CONSTRAIN_KERNELS="native")
        assert "were edited after they were compiled" in process.communicate()[1]
    finally:
        package.write_first(FIRST)


def test_a_damaged_library_is_not_used(package: SmallPackage) -> None:
    library = next(package.kernels.rglob("_native*"))
    content = library.read_bytes()
    library.unlink()
    library.write_bytes(content[:100])
    try:
        assert package.ask()["mode"] == "numba"
    finally:
        library.unlink()
        library.write_bytes(content)


def test_without_numba_or_library_a_sentence_says_so(package: SmallPackage) -> None:
    (package.folder / "numba.py").write_text("raise ModuleNotFoundError('no numba', name='numba')")
    try:
        assert package.ask()["results"] == RESULTS
        process = package.begin(NUMBA_BOUNDSCHECK="1")
        assert "pip install numba" in process.communicate()[1]
    finally:
        (package.folder / "numba.py").unlink()


REFUSED = """
ints, read_only = np.arange(10, dtype=np.int32), np.arange(10, dtype=np.int32)
read_only.flags.writeable = False
row, rows, counter = np.zeros(4, np.uint32), np.zeros((2, 4), np.uint32), np.ones(1, np.int64)
unaligned = np.frombuffer(bytearray(41), np.uint8)[1:].view(np.int32)
calls = [
    (second.twice, (ints,)), (second.twice, (ints, 1, 2)), (second.twice, ()),
    (second.twice, (ints.astype(np.int64), 1)), (second.twice, (ints.astype(np.uint32), 1)),
    (second.twice, (ints[::2], 1)), (second.twice, (ints.reshape(2, 5), 1)), (second.twice, (read_only, 1)),
    (second.twice, (ints.astype(">i4"), 1)), (second.twice, (unaligned, 1)), (second.twice, (list(ints), 1)),
    (second.twice, (memoryview(ints), 1)), (second.twice, (None, 1)), (second.twice, (ints, 1.0)),
    (second.twice, (ints, None)), (second.twice, (ints, "1")), (second.wait, (ints, 1)),
    (second.copy, (rows[:, :2], 0, row)), (second.copy, (rows.T, 0, row)), (second.copy, (row, 0, row)),
    (second.copy, (rows, 0, rows)), (second.copy, (rows.view(np.int32), 0, row)),
]
for number, (kernel, arguments) in enumerate(calls):
    try:
        kernel(*arguments)
    except TypeError:
        continue
    raise AssertionError(f"call {number} was taken")
try:
    second.twice(ints, 1 << 63)
except OverflowError:
    pass
else:
    raise AssertionError("a number of 65 bits was taken")
"""


def test_other_arguments_are_refused(package: SmallPackage) -> None:
    """Arguments that numba refuses once a kernel is compiled are refused. (Numba cuts a long number to 64 bits.)"""
    assert package.ask(REFUSED, CONSTRAIN_KERNELS="native")["results"] == RESULTS
    only_numbers = REFUSED.replace("(second.twice, (ints, 1.0)),", "").partition("\ntry:\n    second.twice")[0]
    assert package.ask("kernels.load()" + only_numbers, CONSTRAIN_KERNELS="numba")["results"] == RESULTS


TAKEN = """
ints = np.arange(10, dtype=np.int32)
assert second.twice(ints, np.int32(3)) == second.twice(ints, np.uint8(3)) == second.twice(ints, True) + 4 == 16
assert type(second.twice(ints, 3)) is int
mapped = np.frombuffer(bytearray(ints.tobytes()), np.int32)
assert second.twice(mapped, 3) == 16
rows, row = np.zeros((3, 4), np.uint32), np.arange(4, dtype=np.uint32)
assert second.copy(rows, 2, row) is None and rows.tolist() == [[0] * 4, [0] * 4, [0, 1, 2, 3]]
second.copy(rows[1:], 0, row)
assert rows.tolist() == [[0] * 4, [0, 1, 2, 3], [0, 1, 2, 3]]
assert second.wait(np.array([7]), 7) == 7
for _ in range(3):
    try:
        second.twice(ints, -1)
    except first.Full as error:
        assert type(error) is first.Full and error.args == ()
    else:
        raise AssertionError("no exception")
"""


@pytest.mark.parametrize("mode", ["native", "numba", "python"])
def test_what_is_taken_and_given(package: SmallPackage, mode: str) -> None:
    """Numbers of any type, arrays however they came about; exceptions from a kernel that a kernel calls."""
    assert package.ask("kernels.load()" + TAKEN, CONSTRAIN_KERNELS=mode)["results"] == RESULTS


WAITED_FOR = """
import threading
counter = np.zeros(1, np.int64)
thread = threading.Thread(target=second.wait, args=(counter, 5), daemon=True)
thread.start()
counter[0] = 5
thread.join(60)
assert not thread.is_alive()
"""


def test_other_threads_run_beside_a_kernel(package: SmallPackage) -> None:
    """A kernel waits for a word that only another thread of Python can change."""
    assert package.ask(WAITED_FOR, CONSTRAIN_KERNELS="native")["results"] == RESULTS


EMIT = """
import sys
from pathlib import Path
from native import build, optimise, platforms

built, out = build.Build(print), Path(sys.argv[1])
for name, target in platforms.PLATFORMS.items():
    for level in target.levels:
        content = optimise.emit(built.lowered.module, built.symbols, target.triple, level)
        (out / f"{name}.{level}").write_bytes(content)
"""
OBJECTS = {  # how a file begins: of ELF 64-bit and its machine, of Mach-O 64-bit and its processor, of COFF
    "linux_x86_64": (b"\x7fELF\x02\x01", 18, b"\x3e\x00"),
    "linux_aarch64": (b"\x7fELF\x02\x01", 18, b"\xb7\x00"),
    "macosx_arm64": (b"\xcf\xfa\xed\xfe", 4, b"\x0c\x00\x00\x01"),
    "macosx_x86_64": (b"\xcf\xfa\xed\xfe", 4, b"\x07\x00\x00\x01"),
    "win_amd64": (b"\x64\x86", 0, b"\x64\x86"),
}


def run_small(small: SmallPackage, repository: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python where `constrain` is the small package."""
    path = os.pathsep.join([str(small.folder), str(repository)])
    environment = {**os.environ, "PYTHONPATH": path, "CONSTRAIN_KERNELS": "numba"}
    return subprocess.run(
        [sys.executable, *command], env=environment, cwd=small.folder, capture_output=True, text=True, check=False
    )


def test_kernels_of_every_platform(package: SmallPackage, repository: Path, tmp_path: Path) -> None:
    """LLVM makes objects of each format, in which the kernels of every level have their names."""
    done = run_small(package, repository, "-c", EMIT, str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    names = {(name, level) for name, target in PLATFORMS.items() for level in target.levels}
    assert {(path.stem, path.suffix[1:]) for path in tmp_path.iterdir()} == names
    for name, level in names:
        content = (tmp_path / f"{name}.{level}").read_bytes()
        system = re.sub(r"^(manylinux|musllinux|macosx)_\d+_\d+_", lambda m: f"{m[1].replace('many', '')}_", name)
        begins, at, machine = OBJECTS[system.replace("musllinux", "linux")]
        assert content.startswith(begins)
        assert content[at:].startswith(machine)
        assert f"kernel_0_{level.replace('-', '_')}".encode() in content


def test_libraries_of_every_platform(package: SmallPackage, repository: Path, tmp_path: Path) -> None:
    """`zig cc` links all of them, and this machine runs the one that is made for it."""
    pytest.importorskip("ziglang", reason="other platforms are linked with ziglang: pip install ziglang")
    done = run_small(package, repository, "-m", "native.build", "--out", str(tmp_path), "--platforms", "all")
    assert done.returncode == 0, done.stderr[-3000:]
    for name, target in PLATFORMS.items():
        content = (tmp_path / name / target.library).read_bytes()
        assert b"PyInit__native" in content
    own = tmp_path / f"manylinux_2_17_{platform.machine()}" / "_native.abi3.so"
    place = package.kernels / "compiler" / "_native.abi3.so"
    before = place.read_bytes()
    place.unlink()
    try:
        shutil.copy(own, place)
        assert package.ask(CONSTRAIN_KERNELS="native")["results"] == RESULTS
        package.ask(TAKEN, CONSTRAIN_KERNELS="native")
    finally:
        place.write_bytes(before)


@pytest.fixture
def checkout(tmp_path: Path, repository: Path) -> SmallPackage:
    """The small package with what builds its library beside it."""
    small = SmallPackage(tmp_path)
    (small.folder / "native").symlink_to(repository / "native")
    return small


def test_a_checkout_builds_its_library(checkout: SmallPackage) -> None:
    """Of four processes that start cold one does; it is built again after an edit, and after the way back."""
    for text, results in [(FIRST, RESULTS), (EDITED, [18, 10]), (FIRST, RESULTS)]:
        checkout.write_first(text)
        for found in [checkout.end(process) for process in [checkout.begin() for _ in range(4)]]:
            assert (found["mode"], found["results"], found["numba"]) == ("native", results, False)
        assert checkout.ask()["stderr"] == ""
    assert len(list(checkout.cache.glob("*.bin"))) == 1
    assert [path.name for path in (checkout.kernels / "compiler").glob("_native*")] == ["_native.abi3.so"]


@pytest.mark.parametrize("compiler, is_noted", [("/no/compiler", False), ("false", True)])
def test_a_checkout_without_a_compiler(checkout: SmallPackage, compiler: str, is_noted: bool) -> None:
    """Numba compiles in the process. What failed is not tried again until kernels are edited."""
    found = checkout.ask(CC=compiler, PYTHONSAFEPATH="1")
    assert (found["mode"], found["compiled"], found["results"]) == ("numba", ALL, RESULTS)
    again = checkout.ask(CC=compiler)
    assert (again["mode"], again["compiled"], again["stderr"]) == ("numba", [], "")
    assert (checkout.kernels / "compiler" / "_native.log").exists() == is_noted
    assert checkout.ask()["mode"] == ("numba" if is_noted else "native")
    checkout.write_first(EDITED)
    assert checkout.ask()["results"] == [18, 10]
    checkout.write_first(FIRST.replace("+ 5", "+ 7"))
    process = checkout.begin(CONSTRAIN_KERNELS="native", CC="/no/compiler")
    assert "there is no C compiler" in process.communicate()[1]


@pytest.mark.parametrize("damage", [lambda content: content[: len(content) // 2], lambda content: content[:-1] + b"?"])
def test_lowered_kernels_that_are_damaged_are_lowered_again(checkout: SmallPackage, damage: Any) -> None:
    assert checkout.ask()["mode"] == "native"
    (kept,) = checkout.cache.glob("*.bin")
    kept.write_bytes(damage(kept.read_bytes()))
    checkout.write_first(EDITED)
    assert checkout.ask(CONSTRAIN_KERNELS="native")["results"] == [18, 10]


PARTS = """
from constrain.kernels import kernel
from constrain.kernels.compiler.accessors import RecordLayout, accessor

STEP = 3

class PLACES(RecordLayout):
    SIZE = 1
    END = 2

@accessor
def size(A, at):
    return A[at + PLACES.SIZE]

@kernel("i(arena, i)")
def by_constant(A, n):
    return A[n] + STEP

@kernel("i(arena, i)")
def by_field(A, n):
    return A[n + PLACES.END]

@kernel("i(arena, i)")
def by_accessor(A, n):
    return size(A, n)

@kernel("i(arena, i)", entry=True)
def all_three(A, n):
    return by_constant(A, n) + 10 * by_field(A, n) + 100 * by_accessor(A, n)
"""
EDITS = [  # what is edited, and whose keys change
    ("STEP = 3", "STEP = 4", {"by_constant"}),
    ("STEP = 3", "STEP = 3.0", {"by_constant"}),
    ("STEP = 3", "# a comment\nSTEP = 3", set()),
    ("A[n] + STEP", "A[n] - STEP", {"by_constant"}),
    ("END = 2", "END = 0", {"by_field"}),
    ("END = 2", "MORE = 2", {"by_field"}),
    ("SIZE = 1", "SIZE = 0", {"by_accessor"}),
    ("at + PLACES", "at - PLACES", {"by_accessor"}),
    ("10 * by_field", "11 * by_field", {"all_three"}),
    ("+ 10 * by_field(A, n)", "+ 10 * by_constant(A, n)", {"all_three"}),
    ('"i(arena, i)")\ndef by_constant', '"i(arena, arena)")\ndef by_constant', {"by_constant", "all_three"}),
]
KEYS = """
import importlib, json, sys
from pathlib import Path
from constrain.kernels import parts
from native import keys, lower

def known():
    del lower.jit.declared[:]
    importlib.reload(parts)
    return {kernel.dispatcher.__name__: keys.of_kernel(kernel) for kernel in lower.jit.declared}

text = Path(parts.__file__).read_text()
sys.dont_write_bytecode = True
found = [known()]
for old, new in json.loads(sys.argv[1]):
    assert old in text
    Path(parts.__file__).write_text(text.replace(old, new))
    found.append(known())
print(json.dumps(found))
"""


def test_an_edit_changes_the_keys_of_what_it_changes(checkout: SmallPackage, repository: Path) -> None:
    """No others are lowered again; a kernel that reads what has no description has no key."""
    (checkout.kernels / "parts.py").write_text(PARTS)
    edits = [(old, new) for old, new, _ in EDITS] + [("STEP = 3", "STEP = [3]")]
    done = run_small(checkout, repository, "-B", "-c", KEYS, json.dumps(edits))
    assert done.returncode == 0, done.stderr[-3000:]
    before, *after, undescribed = json.loads(done.stdout)
    assert all(before.values()) and len(set(before.values())) == len(before) == 4
    for (old, new, changed), keys in zip(EDITS, after, strict=True):
        assert {name for name, key in keys.items() if key != before[name]} == changed, (old, new)
    assert undescribed == {**before, "by_constant": None}


def test_edited_kernels_answer_as_edited(checkout: SmallPackage) -> None:
    """Whatever was lowered before: machine code says what Python says."""
    asks = "from constrain.kernels import parts; given = np.arange(10, dtype=np.int32) ** 2\nkernels.load()\n"
    asks += "second.twice = lambda *_: parts.all_three(given, 4)"
    results = set()
    for old, new, _ in [("", "", set()), EDITS[0], EDITS[4], *EDITS[6:9]]:
        (checkout.kernels / "parts.py").write_text(PARTS.replace(old, new))
        native, python = (checkout.ask(asks, CONSTRAIN_KERNELS=mode)["results"] for mode in ("native", "python"))
        assert native == python, (old, new)
        results.add(native[0])
    assert len(results) == 6


def test_every_kernel_has_a_key(repository: Path) -> None:
    """All that kernels of the package read has a description, so that none is lowered without need."""
    code = """
from constrain.kernels import declare_all
from native import keys, lower
declare_all()
found = [keys.of_kernel(kernel) for kernel in lower.jit.declared]
assert len(found) > 400 and None not in found and len(set(found)) == len(found)
"""
    environment = {**os.environ, "CONSTRAIN_KERNELS": "numba"}
    subprocess.run([sys.executable, "-c", code], cwd=repository, env=environment, check=True)
