"""The wiring: a configuration becomes plugins, a schedule and a run, which is resumed, replayed and compared.

What knows the configuration file, the registry of plugins or the run as a whole may live here. It imports the
layers below (`core`, `storage`, plugins, metrics) and prints nothing: `reports` make tables, `cli` commands.
"""
