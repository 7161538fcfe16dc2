"""The `perdure` command: one file a command; importing them is cheap, their bodies import the rest."""
