"""SGLang: a grammar backend named "constrain".

    python -m sglang.launch_server --model-path MODEL --grammar-backend constrain

The idea: SGLang has a registry of grammar backends, and loads the entry point `sglang.srt.plugins` in each of its
processes before it reads its arguments. `register` adds the name to both. Servers with another backend are not changed.
A fault there would end every server, so a version without the registry only has a line in the log.

Written for the interface of SGLang 0.5.23. The tests drive its own classes of that version, with its imports replaced;
its engine was run with it by hand, on a CPU (docs/howto/sglang.md).

    versions.py      what of SGLang is relied upon
    options.py       the options of the backend, in an environment variable
    grammar.py       one request: accept, roll back, fill, jump forward
    trees.py         the masks of a tree of drafted tokens, in one call
    backend.py       one server: the vocabulary, what requests ask for, thoughts before the answer

The page docs/howto/sglang.md says how to use it.
"""

from __future__ import annotations

import logging
from typing import Any

from constrain.extras import require

__all__ = ["register"]

NAME = "constrain"
logger = logging.getLogger("sglang.constrain")  # below SGLang's logger, which has the handlers


def register() -> None:
    """Make the backend "constrain" known to SGLang in this process. SGLang calls it; a second call changes nothing.

    Where SGLang lacks what the backend relies upon, a server that asks for it does not start, and says what is missing.

    Raises:
        MissingExtraError: SGLang is not installed.

    Example:
        >>> from constrain.engines.sglang import register
        >>> register()  # doctest: +SKIP
    """
    require("sglang", "constrain.engines.sglang.register")
    try:
        from sglang.srt.constrained.base_grammar_backend import register_grammar_backend
        from sglang.srt.server_args import GRAMMAR_BACKEND_CHOICES, add_grammar_backend_choices

        register_grammar_backend(NAME, _create)
        if NAME not in GRAMMAR_BACKEND_CHOICES:
            add_grammar_backend_choices([NAME])
    except Exception as error:  # of whatever SGLang's modules do; servers that do not ask are not our business
        logger.warning("constrain: this SGLang has no place for --grammar-backend constrain: %r", error)


def _create(*arguments: Any) -> Any:
    """The backend of a server that asks: what is relied upon is checked first, and kernels are imported here alone."""
    from constrain.engines.requests.interfaces import found_in_engine
    from constrain.engines.sglang.versions import INTERFACE

    version = found_in_engine("sglang:__version__")
    warning = INTERFACE.check(str(version or "of an unknown version"), INTERFACE.differences())
    if warning:
        logger.warning(warning)
    from constrain.engines.sglang.backend import create

    return create(*arguments)
