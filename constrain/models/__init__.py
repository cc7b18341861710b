"""Models: transformers, serving engines, and the small reference model, each as a model that samplers can ask."""
