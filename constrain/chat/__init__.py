"""Chat: what an assistant writes: tags, tool calls, thoughts, and readers of a text that is still being written."""
