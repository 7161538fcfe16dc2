"""Language models: one module a provider, each with `MODEL`, the class that a configuration builds."""
