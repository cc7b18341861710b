"""Values that are there: membership, the check of a finished text, what the guard watches."""
