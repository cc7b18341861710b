"""Token masks: for one sequence, for many, and applied to logits."""
