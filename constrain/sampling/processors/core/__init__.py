"""Processors, the context that they get, and the model that they make of a model."""
