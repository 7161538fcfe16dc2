"""Environments, one folder each.

The package of an environment exports its class and `WORLD`: a `perdure.core.world.World`, which is all
that may be asked of an environment beside playing it. Its class is `WORLD.environment`. What two environments
share exports no world: a folder of its own, or a module here.
"""
