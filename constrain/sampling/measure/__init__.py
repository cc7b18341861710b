"""Measures of a method, from its outputs."""
