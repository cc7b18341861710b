"""Sets of characters: ranges, classes, case folding, scripts and properties of Unicode."""
