"""Texts that monitors accept, and the monitors."""

from pathlib import PurePosixPath

from constrain.monitors import c, jinja, objects, python, sql
from tables import table

TABLE = table("monitored_texts")

PYTHON = TABLE["python"]
OBJECTS = [
    """found = here.joinpath('a', 'b')
print(here.parent.name, here.with_suffix('.py').as_posix())
if here.is_absolute():
    here.parts
"""
]
SQL = TABLE["jinja"]
C = TABLE["c"]
CATALOGUE = {"users": ["id", "name", "city", "full name"], "orders": ["id", "user_id", "total"]}
JINJA = TABLE["sql"]
VARIABLES = {"page": {"title": "a", "rows": [{"total": 3, "unit": "m"}]}, "user": {"name": "Ada"}}
HERE = {"here": PurePosixPath("/a")}
CASES = {
    "python, any": ("python", python(), PYTHON),
    "python, known": ("python", python(ahead="known"), PYTHON),
    "objects": ("python", objects(HERE), OBJECTS),
    "c": ("c", c(), C),
    "jinja, any": ("jinja", jinja(VARIABLES), JINJA),
    "jinja, known": ("jinja", jinja(VARIABLES, ahead="known"), JINJA),
    "sql, any": ("sql", sql(CATALOGUE), SQL),
    "sql, known": ("sql", sql(CATALOGUE, ahead="known", aliases=["u", "o"]), SQL),
}
