"""Data construction: makes, checks and imports task files."""
