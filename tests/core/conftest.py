from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "bench"
    folder.mkdir()
    return Bench(folder)
