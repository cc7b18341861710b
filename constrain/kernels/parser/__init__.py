"""Earley states and configurations."""
