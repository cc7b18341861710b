"""Building machine code of the kernels into the package: `python -m native.build`.

lower.py makes one LLVM module of all kernels, with the help of numba; optimise.py makes object code of it, for each
level of processors; glue.py writes the C that converts arguments for each kernel, on top of module.c; build.py calls a
C compiler and links all into one extension module. Nothing of this is installed.
"""
