"""The languages and models that samplers are tested on are those of drafts too."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "sampling"))
