"""From formulas to normal forms: which sets are empty, why, and what the report says."""
