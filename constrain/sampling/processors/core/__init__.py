"""What a processor is, what it is told, and the model that processors make of a model."""
