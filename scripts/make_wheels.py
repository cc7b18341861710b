"""Make the wheels of all platforms from libraries that `python -m native.build --platforms` made, check and list them.

    python scripts/make_wheels.py --libraries build/native --out dist
    python scripts/make_wheels.py --libraries build/native --out dist \\
        --run "manylinux_2_17_aarch64=qemu-aarch64-static -L ROOT -E PYTHONPATH=PACKAGES ROOT/usr/bin/python3.11"

Each library is looked into with lief: it is for that processor, exports the module's entry and nothing else of ours,
and asks for nothing but Python's stable ABI and the system's own libraries. A platform that this machine can run (its
own, or by `--run`, with an interpreter that finds what the package needs) runs check_installed.py, too. A table beside
the wheels has a row for each: size, hash, what was checked, what ran.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import lief

ROOT = Path(__file__).resolve().parent.parent
OURS = {"PyInit__native", "_mh_dylib_header", "__dso_handle"}  # the last two are of every library of macOS
SYSTEM = re.compile(
    r"libc\.so(\.6)?|/usr/lib/libSystem\.B\.dylib|python3\.dll|KERNEL32\.dll|api-ms-win-crt-\w+-l1-1-0\.dll"
)
MACHINES = {"x86_64": ("X86_64", "AMD64"), "aarch64": ("AARCH64", "ARM64"), "arm64": ("ARM64",), "amd64": ("AMD64",)}


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--libraries", type=Path, required=True, help="a folder with a folder for each platform")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the wheels")
    parser.add_argument(
        "--run", action="append", default=[], metavar="PLATFORM=COMMAND", help="how to run Python of a platform"
    )
    return parser.parse_args(arguments)


def pack(library: Path, out: Path) -> Path:
    """Build the wheel of a library. Returns its path."""
    before = set(out.glob("*.whl"))
    environment = {**os.environ, "CONSTRAIN_LIBRARY": str(library.resolve())}
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(out)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    (made,) = set(out.glob(f"*{library.parent.name}.whl")) - before or set(out.glob(f"*{library.parent.name}.whl"))
    return made


def look_into(library: Path) -> str:
    """Check a library's format, processor, names and needs. Returns them as text, or ends with a message."""
    binary: Any = lief.parse(str(library))
    machine = library.parent.name.split("_", 1)[1]
    if isinstance(binary, lief.PE.Binary):
        kind, exported = "PE", {entry.name for entry in binary.get_export().entries}
        needed, asked = {each.name for each in binary.imports}, str(binary.header.machine)
    elif isinstance(binary, lief.MachO.Binary):
        kind, exported = "Mach-O", {str(symbol.name)[1:] for symbol in binary.exported_symbols}
        needed, asked = {each.name for each in binary.libraries} - {library.name}, str(binary.header.cpu_type)
    else:
        kind, exported = "ELF", {str(symbol.name) for symbol in binary.exported_symbols} - {""}
        needed, asked = set(binary.libraries), str(binary.header.machine_type)
    names = next(names for end, names in MACHINES.items() if machine.endswith(end))
    wrong = [
        *(f"it exports {name}" for name in exported - OURS),
        *(f"it needs {name}" for name in needed if not SYSTEM.fullmatch(name)),
        *([] if "PyInit__native" in exported else ["it does not export PyInit__native"]),
        *([] if asked.rpartition(".")[2].upper() in names else [f"it is for {asked}"]),
    ]
    if kind == "Mach-O" and machine.endswith("arm64") and not binary.has_code_signature:
        wrong.append("it is not signed, and arm64 asks for a signature")
    if wrong:
        raise SystemExit(f"make_wheels: {library}: {'; '.join(wrong)}")
    return f"{kind}, needs {', '.join(sorted(needed))}"


def run(wheel: Path, command: str) -> dict[str, Any]:
    """Run check_installed.py with the package of a wheel. command: an interpreter that has what the package needs."""
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        script = str(ROOT / "scripts" / "check_installed.py")
        begin = f"import runpy, sys; sys.path.insert(0, {folder!r}); sys.argv = [{script!r}]"
        done = subprocess.run(
            [*shlex.split(command), "-c", f"{begin}; runpy.run_path({script!r}, run_name='__main__')"],
            env={**os.environ, "CONSTRAIN_KERNELS": "native", "CONSTRAIN_CACHE": ""},
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"make_wheels: {wheel.name}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Make, check and list the wheels."""
    options = parse()
    commands = dict(each.split("=", 1) for each in options.run)
    commands.setdefault(f"manylinux_2_17_{platform.machine()}", shlex.quote(sys.executable))
    rows, digests = [], set()
    for folder in sorted(path for path in options.libraries.iterdir() if path.is_dir()):
        (library,) = (path for path in folder.iterdir() if path.suffix in (".so", ".pyd"))
        checked, wheel = look_into(library), pack(library, options.out)
        ran = "–"
        if folder.name in commands:
            found = run(wheel, commands[folder.name])
            digests.add(found["digest"])
            assert not found["numba"], "numba was imported"
            ran = (
                f"{found['masks']} masks exact, digest {found['digest']}, Python {found['python']}, "
                f"first mask {found['first_mask']} s"
            )
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()[:16]
        size = f"{wheel.stat().st_size / 1e6:.1f} MB"
        rows.append(f"| {folder.name} | {size} | {library.stat().st_size >> 10} KiB | {digest} | {checked} | {ran} |")
        print(rows[-1], flush=True)
    if len(digests) > 1:
        raise SystemExit(f"make_wheels: masks of a schema differ between platforms: {', '.join(sorted(digests))}")
    head = "| platform | wheel | kernels | sha256 | looked into | ran |\n|---|---:|---:|---|---|---|\n"
    (options.out / "wheels.md").write_text(head + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
