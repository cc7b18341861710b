"""Sets of JSON values: the normal form and its algebra."""
