"""The table of methods: the names that `generate(method=...)` knows.

A method is a generator function `method(job)`, or a `Sampler`: it yields `(row, token ids)` as soon as tokens are final
— for streaming; a method that revises its outputs yields nothing — and returns one `Sample` for each row of the job.
A name stands for the method with its default options; pass an object for others: `method=CARS(attempts=100)`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from constrain.errors import ConstrainError
from constrain.sampling.core.job import Job, Sample
from constrain.sampling.methods.argmax import Argmax
from constrain.sampling.methods.asap import ASAp
from constrain.sampling.methods.beam import Beam
from constrain.sampling.methods.cars import CARS
from constrain.sampling.methods.exact import Exact
from constrain.sampling.methods.faithful import Faithful
from constrain.sampling.methods.lcd import lcd
from constrain.sampling.methods.mcmc import MCMC
from constrain.sampling.methods.rejection import Rejection
from constrain.sampling.methods.sir import SIR
from constrain.sampling.methods.smc import AWRS, SMC

Method = Callable[[Job], Generator[tuple[int, list[int]], None, list[Sample]]]

METHODS: dict[str, Method] = {
    "argmax": Argmax(),
    "asap": ASAp(),
    "awrs": AWRS(),
    "beam": Beam(),
    "cars": CARS(),
    "exact": Exact(),
    "faithful": Faithful(),
    "lcd": lcd,
    "mcmc": MCMC(),
    "rejection": Rejection(),
    "sir": SIR(),
    "smc": SMC(),
}


def register(name: str, method: Method) -> None:
    """Make a method known by a name. A name can be given once."""
    if name in METHODS:
        raise ConstrainError(f"there is a method {name!r} already", fix="register it under another name")
    METHODS[name] = method


def method_of(value: str | Method) -> Method:
    """The method itself, or the one of a name. Raises ConstrainError: neither."""
    if isinstance(value, str):
        return method_named(value)
    if isinstance(value, type):
        raise ConstrainError(f"method is the class {value.__name__}, not a method", fix=f"make one: {value.__name__}()")
    if not callable(value):
        raise ConstrainError(f"there is no method {value!r}", fix=f"choose one of: {', '.join(sorted(METHODS))}")
    return value


def method_named(name: str) -> Method:
    """The method of a name; ConstrainError with the known names."""
    if name not in METHODS:
        raise ConstrainError(f"there is no method {name!r}", fix=f"choose one of: {', '.join(sorted(METHODS))}")
    return METHODS[name]
