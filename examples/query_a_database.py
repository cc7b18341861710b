"""SQL over a database of yours: only tables and columns that exist.

python examples/query_a_database.py [MODEL]
"""

from __future__ import annotations

import sqlite3
import sys

import constrain

DATABASE = """
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER, total REAL);
INSERT INTO users VALUES (1, 'Ada', 'London'), (2, 'Emmy', 'Erlangen');
INSERT INTO orders VALUES (1, 1, 9.5), (2, 1, 20.0), (3, 2, 7.25);
"""


def main(model: object = None) -> list[str]:
    """Statements in which the database misses no name."""
    model = model or constrain.reference.load()
    database = sqlite3.connect(":memory:")
    database.executescript(DATABASE)
    catalogue = constrain.monitors.sql(database, ahead="known")
    query = constrain.monitors.monitored(constrain.collection.load("sql"), catalogue)
    prompt = f"{DATABASE}-- all names\nSELECT name FROM users;\n-- all totals\n"
    outputs = constrain.generate(model, prompt, constraint=query, max_tokens=40, complete=True, n=3, seed=1)
    texts = [output.text for output in outputs if output.finish_reason == "stop"]
    for text in texts:
        if any(word in text.lower() for word in ("create", "alter", "drop")):
            continue  # after these, nothing is refused: the catalogue is another one
        for statement in filter(str.strip, text.split(";")):
            try:
                database.execute(f"EXPLAIN {statement}")
            except sqlite3.Error as error:  # how many values a row has is not checked, say
                if "no such" in str(error):
                    raise
    return texts


if __name__ == "__main__":
    print(*main(*sys.argv[1:]), sep="\n---\n")
