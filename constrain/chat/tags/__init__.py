"""Tags: what an assistant writes, as a language: free text, thinking, tool calls and lists of them.

takes: constraints, and the texts or tokens around them; structural tags as JSON
gives: constraints
start reading at: free.py, then dispatch.py; structural.py reads the JSON
"""

from constrain.chat.tags.dispatch import dispatch, separated, triggered_tags
from constrain.chat.tags.free import free_text
from constrain.chat.tags.parameters import parameters
from constrain.chat.tags.structural import structural_tag
from constrain.chat.tags.tag import Tag, tag
from constrain.chat.tags.token_tags import any_tokens, token_dispatch, token_triggered_tags

__all__ = [
    "Tag",
    "any_tokens",
    "dispatch",
    "free_text",
    "parameters",
    "separated",
    "structural_tag",
    "tag",
    "token_dispatch",
    "token_triggered_tags",
    "triggered_tags",
]
