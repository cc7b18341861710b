from typing import Any

from typing_extensions import assert_type

import constrain

schema = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
g = constrain.generate(constrain.reference.load(), "A flag: ", schema=schema, seed=1)
assert_type(g, constrain.Generation[Any])
text: str = g.text
assert g.value is not None  # else the text was cut off: see finish_reason
assert_type(g.value["ok"], Any)
