"""Make a language model's output obey a JSON Schema, a regex or a context-free grammar: always, fast, and faithfully.

    >>> import constrain
    >>> vocabulary = constrain.Vocabulary([b"t", b"tr", b"ue", b"rue", b"fa", b"lse", b"x", None], eos_ids=[7])
    >>> matcher = constrain.compile(constrain.json_schema({"type": "boolean"}), vocabulary).matcher()
    >>> [token for token in range(8) if matcher.allows(token)]
    [0, 1, 4]
    >>> matcher.advance(1), matcher.forced_bytes(), matcher.is_accepting()
    (True, b'ue', False)

Everything public is here, and loaded when first used; torch only for `generate`, `apply_bitmask_` and what lies behind
them.
"""

from __future__ import annotations

import logging
from pathlib import Path

__version__ = "0.1.0"
logging.getLogger(__name__).addHandler(logging.NullHandler())  # who wants messages configures logging

if (Path(__file__).parent / "api" / "verification_library.py").exists():
    raise ImportError(
        "another project's package `constrain` (building controls) lies in the same folder as constrain-lm: "
        f"{Path(__file__).parent}\n  fix: pip uninstall constrain constrain-lm; pip install constrain-lm"
    )

from constrain.lazily import loader, names_of_stub
from constrain.packages import PACKAGES, install

install()

_PACKAGES = (*PACKAGES, "engines", "monitors", "papers", "sampling", "speculative")
_HOMES = {name: module for name, module in names_of_stub(__file__).items() if name not in _PACKAGES}
__all__ = sorted(_HOMES)
__getattr__ = loader(__name__, _HOMES, _PACKAGES)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_PACKAGES])
