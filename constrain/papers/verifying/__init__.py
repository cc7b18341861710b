"""Verification rules from the literature, one rule a file."""
