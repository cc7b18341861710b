"""Sets of characters: ranges, classes, case folding, Unicode scripts and properties."""
