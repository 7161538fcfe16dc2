from __future__ import annotations

from collections.abc import Iterator

import pytest

from perdure.sandboxes.bubblewrap import BubblewrapSandbox
from tests.sandboxes.availability import need_bubblewrap


@pytest.fixture
def sandbox() -> Iterator[BubblewrapSandbox]:
    need_bubblewrap()
    machine = BubblewrapSandbox()
    yield machine
    machine.close()
