"""Suites that any plugin author can run: each yields one named result a check."""
