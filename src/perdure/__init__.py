"""perdure: evaluate and run LLM agents that last."""
