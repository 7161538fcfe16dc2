"""Measures: success, skills, lifelong learning, tokens, statistics."""
