"""Database tasks made from a seed, without a language model: recipes, wording, proof by execution."""
