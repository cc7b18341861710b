"""An output in colours, and a page with what the model would rather have written.

python examples/see_what_was_forced.py [MODEL] [FILE]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import constrain

PROMPT, CHOICES = "The answer is ", ["yes", "no", "perhaps"]


def main(model: object = None, file: str | None = None) -> Path:
    """The path of the page."""
    model = model or constrain.reference.load()
    output = constrain.generate(model, PROMPT, choices=CHOICES, seed=1)
    output.show()
    trace = constrain.trace(model, PROMPT, output, choices=CHOICES)
    path = Path(file or Path(tempfile.mkdtemp()) / "trace.html")
    trace.save(path)
    assert [token.token for token in trace] == output.tokens
    return path


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
