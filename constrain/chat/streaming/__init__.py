"""Streaming: what can be said of a text while it is written: values of JSON so far, and models of finished fields.

takes: pieces of a text, in order
gives: changes, each with its place; the value so far
start reading at: json_values.py, then typed.py
"""

from constrain.chat.streaming.json_values import Change, JsonValues
from constrain.chat.streaming.typed import TypedValues, reader_of, typed_of

__all__ = ["Change", "JsonValues", "TypedValues", "reader_of", "typed_of"]
