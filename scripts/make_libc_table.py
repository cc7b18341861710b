"""Write constrain/monitors/c/libc_names.py: the names that headers of the C library declare, as GCC reads them here.

    python scripts/make_libc_table.py

Declarations are read by the monitor of C from the preprocessed header; macros are taken from GCC's list. Names that
begin with two underscores, or one and a capital letter, belong to the compiler and are left out.
"""

from __future__ import annotations

import re
import subprocess
import textwrap
from pathlib import Path

import constrain
from constrain.monitors.reading import Reading

HEADERS = (
    "assert ctype errno fenv float inttypes limits locale math setjmp signal stdarg stdbool stddef stdint stdio stdlib"
    " string time wchar wctype unistd strings fcntl sys/types sys/stat sys/time pthread"
).split()
OUT = Path(__file__).parent.parent / "constrain" / "monitors" / "c" / "libc_names.py"
RESERVED = re.compile(r"__|_[A-Z]")
DEFINE = re.compile(r"#define (\w+)(\(?)")
TITLE = '''"""Names that headers of the C library declare, as {version} reads them.

Written by scripts/make_libc_table.py.

Each header has types, values (with macros that stand for one), macros with arguments, and functions with the number
of their arguments; "+": and more, "?": any number.
"""

HEADERS: dict[str, tuple[str, str, str, str]] = {{
'''


def gcc(name: str, *options: str) -> str:
    """Run the preprocessor on a header; "": on none."""
    text = f"#include <{name}.h>\n" if name else ""
    command = ["gcc", "-std=gnu17", "-E", "-P", *options, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def macros(name: str) -> dict[str, bool]:
    """Macros that a header defines: whether they take arguments."""
    return {found[1]: bool(found[2]) for found in DEFINE.finditer(gcc(name, "-dM"))}


def main() -> None:
    """Write the table."""
    own = macros("")
    version = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    parts = [TITLE.format(version=version)]
    for name in HEADERS:
        reading = Reading(constrain.monitors.c())
        end = reading.step(reading.start(), gcc(name).encode() + b" ")
        assert end is not None and end.inner.value.at == "outside", name
        kinds: list[set[str]] = [set(), set(), set(), set()]
        for one, entry in end.inner.value.scopes[0].names.table.items():
            arity = entry.type.arity if entry.type.derived[:1] != ("*",) else None
            if RESERVED.match(one):
                continue
            if entry.kind == "type":
                kinds[0].add(one)
            elif arity is None:
                kinds[1].add(one)
            else:
                count = "?" if arity.number is None else f"{arity.number}{'+' if arity.more else ''}"
                kinds[3].add(f"{one}/{count}")
        functions = {one.split("/")[0] for one in kinds[3]}
        for one, takes in macros(name).items():
            if one not in own and not RESERVED.match(one) and one not in functions:
                kinds[0 if one == "bool" else 2 if takes else 1].add(one)
        parts.append(f'    "{name}.h": (\n')
        for kind in kinds:
            lines = textwrap.wrap(" ".join(sorted(kind)), 108, break_on_hyphens=False, break_long_words=False) or [""]
            parts.append(
                "".join(f'        "{line}{" " if line != lines[-1] else ""}"\n' for line in lines)[:-1] + ",\n"
            )
        parts.append("    ),\n")
    OUT.write_text("".join(parts) + "}\n")


if __name__ == "__main__":
    main()
