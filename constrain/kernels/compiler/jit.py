"""Kernels are compiled by numba on this machine, once, and kept in a file (cache.py).

One signature each: numba quietly compiles a second kernel for every mix of int32 and int64 arguments. Once all are in
the file, small kernels that only kernels call are not read from it: their code is copied into their callers
(linking.py). Numba's own cache is not used: it has a file for each kernel, does not notice an edited callee in another
file (numba issue 1833), and stops at what it cannot read or write.

Compiling runs in a thread of its own, which a signal to the process cannot stop in the middle: an interrupt leaves
either a whole kernel or none, and the next `make_ready` goes on from there.
"""

from __future__ import annotations

import logging
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import llvmlite
import numba
from numba.core import config, serialize
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult

from constrain.kernels.compiler import cache, linking, native, pipeline
from constrain.kernels.compiler.progress import Line

Progress = Callable[[int, int], None]

_log = logging.getLogger(__name__)


class Kernel(NamedTuple):
    """A declared kernel. is_entry, is_brief, is_inline, is_apart: as in `declare.kernel`."""

    name: str
    dispatcher: Any
    signature: str
    is_entry: bool
    is_brief: bool
    is_inline: bool
    is_apart: bool


declared: list[Kernel] = []
_ready: set[str] = set()
_blobs: cache.Blobs = {}
_lock = threading.Lock()
_job: _Job | None = None


def compiled(
    function: Any, signature: str, is_entry: bool, is_brief: bool, is_inline: bool, is_apart: bool = False
) -> Any:
    """The kernel as a function that numba compiles."""
    # PERF: without numba's runtime, arrays are passed without counting references. Two locked instructions an array
    # and call were 38 % of all CPU time of MaskBench (perf record; note 0005). So kernels cannot make arrays.
    dispatcher = numba.njit(nogil=not is_brief, error_model="numpy", _nrt=False, pipeline_class=pipeline.Compiler)(
        linking.caller(function)
    )
    name = native.name_of(function, signature)
    dispatcher._cache = _Memory(name)
    linking.declare(dispatcher, signature, is_inline, is_apart)
    declared.append(Kernel(name, dispatcher, signature, is_entry, is_brief, is_inline, is_apart))
    return dispatcher


class _Memory(NullCache):
    """Numba's cache of one kernel, kept as an entry of `_blobs`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def load_overload(self, _signature: Any, target: Any) -> Any:
        blob = _blobs.get(self.name)
        if blob is None:
            return None
        target.refresh()
        return CompileResult._rebuild(target, *pickle.loads(blob))

    def save_overload(self, _signature: Any, result: Any) -> None:
        _blobs[self.name] = serialize.dumps(result._reduce())


class _Stopped(Exception):
    """Nobody waits for the kernels any more."""


class _Job(threading.Thread):
    """Makes all kernels ready. `done` of `total` are; `error` says what went wrong."""

    def __init__(self) -> None:
        super().__init__(name="constrain-kernels")
        self.done, self.total = 0, len(declared)
        self.is_compiling = self.is_waiting = self.is_stopped = False
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            if not self._read():
                with cache.only_one(_path(), self._wait):
                    self.is_waiting = False
                    if not self._read():
                        self._compile()
        except _Stopped:
            pass
        except BaseException as error:
            self.error = error

    def _read(self) -> bool:
        """Read all kernels from the file, and say if they are there and undamaged.

        Where some are absent, the kernels that the file has are in `_blobs`.
        """
        _blobs.update(cache.read(_path()))  # again after waiting: another process may have written more of them
        absent = {kernel.name for kernel in declared} - _blobs.keys()
        if absent:
            _log.info("%s lacks %d of %d kernels", _path(), len(absent), len(declared))
            return False
        try:
            self._make([k for k in declared if k.is_entry or linking.is_symbol(k.dispatcher)])
        except Exception as error:  # whatever numba says to data that it did not write
            _log.warning("the kernels in %s cannot be read, and are compiled again: %r", _path(), error)
            _blobs.clear()
            return False
        _blobs.clear()
        return True

    def _compile(self) -> None:
        self.is_compiling = True
        had = len(_blobs)
        try:
            self._make(declared)
        finally:
            if len(_blobs) > had and native.stamp() == native.STAMP:  # not of sources that have been edited meanwhile
                cache.write(_path(), _blobs)
        _blobs.clear()

    def _make(self, kernels: list[Kernel]) -> None:
        """Make these kernels ready, in the order of their declaration: a callee before its callers."""
        self.done, self.total = 0, len(kernels)
        for kernel in kernels:
            if self.is_stopped:
                raise _Stopped
            if kernel.name not in _ready:
                kernel.dispatcher.compile(kernel.signature)
                kernel.dispatcher.disable_compile()
                linking.publish(kernel.dispatcher)
                _ready.add(kernel.name)
            self.done += 1

    def _wait(self) -> None:
        self.is_waiting = True
        if self.is_stopped:
            raise _Stopped


def make_ready(progress: Progress | None = None) -> None:
    """Make the kernels ready: read from the file what is called, or compile all; quick when done already.

    progress: called with (kernels done, kernels in all); by default a line on standard error while compiling.
    """
    global _job
    if _is_loaded():
        return
    with _lock:
        if _job is not None:  # of a call that was interrupted
            _job.join()
        if _is_loaded():
            return
        _job = _Job()
        _job.start()
        try:
            _follow(_job, progress)
        except BaseException:
            _job.is_stopped = True
            raise
        error, _job = _job.error, None
        if error is not None:
            raise error


def _is_loaded() -> bool:
    return all(k.name in _ready for k in declared if k.is_entry)


def is_kept() -> bool:
    """True if `make_ready` has only to read the file."""
    return _is_loaded() or cache.read(_path()).keys() >= {kernel.name for kernel in declared}


def _path() -> Any:
    target = numba.core.registry.cpu_target.target_context
    parts = native.STAMP, numba.__version__, llvmlite.__version__, sys.version_info[:3], sys.implementation.cache_tag
    return cache.path_of((*parts, target.codegen().magic_tuple(), config.BOUNDSCHECK, str(config.OPT)))


def _follow(job: _Job, progress: Progress | None) -> None:
    """Wait for the job, and tell how far it is."""
    line = Line()
    while job.is_alive():
        job.join(0.1)
        if progress is not None:
            if job.is_compiling:
                progress(job.done, job.total)
        elif job.is_alive() and job.is_waiting:
            line.tell("another process compiles the kernels")
        elif job.is_alive() and job.is_compiling:
            line.tell(f"compiling kernels, once: {job.done} of {job.total}")
    if progress is None:
        line.end()
