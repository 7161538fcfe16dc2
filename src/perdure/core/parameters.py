"""What the parameters of a plug-in's constructor may declare beyond their types, as `Annotated[T, …]`."""

from __future__ import annotations


class Operational:
    """Marks a parameter that does not change results: an address, the name of a key, a client's time-out.

    Such parameters are no part of a run's identity or of the response cache's keys: a run goes on after they
    changed. What a model or a task could notice (a token limit, a time-out of an environment's commands) is
    not operational.
    """


class FromFile:
    """Marks a parameter that takes code: a configuration gives `"file.py:name"`, a constructor gets it.

    `list[Annotated[T, FromFile]]` takes a list of them. The files' sources are part of a run's identity.
    """
