"""String formats: each name as a regular language, or as a check of the finished text."""
