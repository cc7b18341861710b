"""The command line: `constrain generate | check | explain | describe | lint | diagram | test-grammar | playground |
warmup | bench`.

`app.py` is the program. It needs the extra `[cli]`; without it, `main` says so.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """The entry point `constrain`."""
    import constrain

    if "json_schema" not in getattr(constrain, "__all__", ()):  # another project's package
        sys.exit(
            "constrain: another project's package `constrain` (building controls) is installed over constrain-lm\n"
            "  fix: pip uninstall constrain constrain-lm; pip install constrain-lm"
        )
    from constrain.errors import MissingExtraError
    from constrain.extras import require

    try:
        require("cli", "the command line")
    except MissingExtraError as error:
        sys.exit(f"constrain: {error}")
    from constrain.cli.app import app

    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")  # else it ends with a code for colours
    app()
