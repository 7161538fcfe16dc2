from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.core.bench import Bench
from tests.memory_limit import (
    pytest_addoption,
    pytest_configure,
    pytest_runtest_makereport,
    pytest_runtest_protocol,
)

__all__ = ["pytest_addoption", "pytest_configure", "pytest_runtest_makereport", "pytest_runtest_protocol"]

# Examples are judged by what they do, not by how long a busy machine takes for them.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "bench"
    folder.mkdir()
    return Bench(folder)
