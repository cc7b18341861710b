"""Programs of TypeScript that its compiler accepts under --strict, and beginnings that nothing can complete."""

from pathlib import Path

from tables import table

TABLE = table("monitors_typescript")

EXAMPLES = Path(__file__).resolve().parents[2] / "grammars" / "typescript" / "accept"

OF_THE_COLLECTION = [
    (EXAMPLES / f"{name}.ts").read_text(encoding="utf-8").strip()
    for name in ("points", "shapes", "account", "animals", "list", "pairs")
]
OTHERS = TABLE["accepted"]
ACCEPTED = [*OF_THE_COLLECTION, *OTHERS]
