"""What every method shares: one step, draws, sequences that grow together, potentials, memory."""
