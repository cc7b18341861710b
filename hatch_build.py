"""What a build does beside packing files: it compiles the kernels into the wheel, if it can.

A wheel with compiled kernels is for one platform, and for all Pythons from 3.10 on (abi3), or for the one free-threaded
Python that builds it. Where numba or a C compiler is missing, and for an editable install, whose kernels may be edited,
the wheel is pure Python and asks for numba. `CONSTRAIN_NATIVE=1` makes it an error if the kernels cannot be compiled
(releases), `CONSTRAIN_NATIVE=0` leaves it. `CONSTRAIN_LIBRARY=FOLDER/win_amd64/_native.pyd`: this library, of `python
-m native.build --platforms`, is packed, into a wheel of that platform; `make wheels` does so for all.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
from native import platforms

OLDEST = (2, 17)  # glibc, as of the oldest numpy wheels
STABLE = "cp310-abi3"


class Kernels(BuildHookInterface[Any]):
    """Compiles the kernels."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it packs."""
        self.folder = tempfile.mkdtemp(prefix="constrain-")
        asked = os.environ.get("CONSTRAIN_NATIVE", "")
        made = os.environ.get("CONSTRAIN_LIBRARY")
        reason = platforms.missing() if asked != "0" else "asked for"
        if version == "editable":
            reason = "an editable install"
        if made:
            self._pack(Path(made), STABLE, Path(made).parent.name, build_data)
        elif not reason:
            library = self._compile()
            self._pack(library, _interpreters(), _platform(library), build_data)
        elif asked == "1":
            raise RuntimeError(f"the kernels cannot be compiled: {reason}")
        else:
            self.app.display_info(f"kernels are not compiled: {reason}")
            build_data["dependencies"].append(self.config["numba"])

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling when it has packed."""
        shutil.rmtree(self.folder)

    @staticmethod
    def _pack(library: Path, interpreters: str, tag: str, build_data: dict[str, Any]) -> None:
        build_data["force_include"][str(library)] = f"constrain/kernels/compiler/{library.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{interpreters}-{tag}"

    def _compile(self) -> Path:
        path = os.pathsep.join(filter(None, [self.root, os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "native.build", "--out", self.folder]
        subprocess.run(command, cwd=self.root, env={**os.environ, "PYTHONPATH": path}, check=True)
        (library,) = Path(self.folder).iterdir()
        return library


def _interpreters() -> str:
    """The tags of the Pythons that a library serves which this one builds."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return STABLE
    version = "cp{}{}".format(*sys.version_info)
    return f"{version}-{version}t"


def _platform(library: Path) -> str:
    """The platform's tag: all systems with the glibc that the library asks for, where that can be told."""
    if platform.libc_ver()[0] != "glibc":
        return re.sub(r"\W", "_", sysconfig.get_platform())
    needed = [(int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", library.read_bytes())]
    major, minor = max([OLDEST, *needed])
    return f"manylinux_{major}_{minor}_{platform.machine()}"
