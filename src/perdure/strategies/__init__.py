"""Context strategies: what the model sees within one task."""
