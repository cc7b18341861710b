"""Token masks: for one sequence, for many, and what they do to logits."""
