"""The formats, as rows of two tables.

takes: nothing
gives: `FORMATS`, by their names
start reading at: objects.py
"""

from constrain.chat.calls.format import Format
from constrain.chat.calls.formats import elements, objects

FORMATS: dict[str, Format] = {
    made.name: made for made in sorted((*objects.FORMATS, *elements.FORMATS), key=lambda made: made.name)
}
