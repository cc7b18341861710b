"""Shared by all methods: one step, draws, sequences that grow together, potentials, memory."""
