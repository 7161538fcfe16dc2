from __future__ import annotations

from tests.models.connecting import connect

__all__ = ["connect"]
