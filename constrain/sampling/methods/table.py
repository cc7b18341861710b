"""The table of methods: the names that `generate(method=...)` knows.

A method is a generator function `method(job)`, or a `Sampler`: it yields `(row, token ids)` as soon as tokens are final
— for streaming; a method that revises its outputs yields nothing — and returns one `Sample` for each row of the job.
A name stands for the method with its default options; pass an object for others: `method=CARS(attempts=100)`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from constrain.errors import ConstrainError
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.core.registry import Registry

Method = Callable[[Job], Generator[tuple[int, list[int]], None, list[Sample]]]


class Methods(Registry[Method]):
    """The table; a row that names a class stands for one with its default options."""

    def __getitem__(self, name: str) -> Method:
        value = super().__getitem__(name)
        if isinstance(value, type):
            self[name] = value = value()
        return value


METHODS = Methods(
    "method",
    {
        "argmax": "constrain.papers.search.argmax:Argmax",
        "asap": "constrain.sampling.methods.asap:ASAp",
        "awrs": "constrain.sampling.methods.smc:AWRS",
        "beam": "constrain.papers.search.beam:Beam",
        "cars": "constrain.sampling.methods.cars:CARS",
        "exact": "constrain.sampling.methods.exact:Exact",
        "faithful": "constrain.sampling.methods.faithful:Faithful",
        "lcd": "constrain.sampling.methods.lcd:lcd",
        "mcmc": "constrain.sampling.methods.mcmc:MCMC",
        "rejection": "constrain.sampling.methods.rejection:Rejection",
        "sir": "constrain.sampling.methods.sir:SIR",
        "smc": "constrain.sampling.methods.smc:SMC",
    },
)


def register(name: str, method: Method) -> None:
    """Make a method known by a name, to `generate(method=...)` and to `method_of`.

    Args:
        name: the name; it can be given once.
        method: a `Sampler`, or a generator function `method(job)`.

    Raises:
        ConstrainError: there is a method of this name.

    Example:
        >>> from constrain.sampling import CARS, method_of, register
        >>> register("patient-cars", CARS(attempts=10_000))
        >>> method_of("patient-cars").attempts
        10000
    """
    METHODS.add(name, method)


def method_of(value: str | Method) -> Method:
    """The method that `generate(method=...)` means: of a name, or the object itself.

    Args:
        value: a name, a `Sampler`, or a generator function `method(job)`.

    Returns:
        The method.

    Raises:
        ConstrainError: an unknown name, a class instead of an object, or what cannot be called.

    Example:
        >>> from constrain.sampling import SIR, method_of
        >>> method_of("sir").name, method_of(SIR(samples=4)).samples
        ('sir', 4)
    """
    if isinstance(value, str):
        return METHODS.named(value)
    if isinstance(value, type):
        raise ConstrainError(f"method is the class {value.__name__}, not a method", fix=f"make one: {value.__name__}()")
    if not callable(value):
        raise ConstrainError(f"there is no method {value!r}", fix=METHODS.choices(given=value))
    return value
