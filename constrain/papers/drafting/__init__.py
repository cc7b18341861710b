"""Drafters and controllers of drafts from the literature, one method a file."""
