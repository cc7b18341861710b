"""Parser states (Earley sets) and configurations."""
