"""Chat: what an assistant writes: tags, tool calls, thoughts, and readers of a text that is still being written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from constrain.chat.calls.tools import ToolUse


def is_tool_use(given: Any) -> TypeGuard[ToolUse]:
    """True if a value is of `constrain.tools`, whose module is loaded then."""
    tools = sys.modules.get("constrain.chat.calls.tools")
    return tools is not None and isinstance(given, tools.ToolUse)
