from typing_extensions import assert_type

import constrain

try:
    constrain.json_schema({"type": "integer", "minimum": 3, "maximum": 2})
except constrain.UnsatisfiableError as error:
    assert_type(str(error), str)
except (constrain.SchemaError, constrain.LimitError):
    raise
else:
    raise AssertionError("no number is at least 3 and at most 2")
