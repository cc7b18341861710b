"""What a set of outputs says about its method."""
