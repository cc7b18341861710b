"""Building machine code of the kernels into the package: `python -m native.build`, which a checkout runs itself.

lower.py makes LLVM of a kernel, with the help of numba; program.py links all into one module, and keeps each under its
key (keys.py); optimise.py makes object code of it, for each level of processors; glue.py writes the C that converts
arguments for each kernel, on top of module.c; build.py calls a C compiler and links all into one extension module.
Nothing of this is installed.
"""

import hashlib
from pathlib import Path

SOURCES = {  # a hash of each file that this process is about to import
    path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(Path(__file__).parent.glob("*.py"))
}
