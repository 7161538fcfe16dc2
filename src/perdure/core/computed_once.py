"""A value of an object that never changes, computed when it is first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property as computed_once
else:

    class computed_once:  # noqa: N801 - a decorator
        """`functools.cached_property` without the lock of Python 3.11, at which lanes would wait."""

        def __init__(self, function):
            self._function = function

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._function(instance)
            return value


__all__ = ["computed_once"]
