"""Asking a fake provider in tests: how a model is connected to one, and asked one question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any, Protocol

import pytest

from perdure.core.errors import ModelError
from perdure.core.model import LanguageModel, all_outcomes
from perdure.core.types import (
    Completion,
    Message,
    Request,
)
from perdure.models.openai_compatible import OpenAICompatibleModel
from tests.models.fake_provider import FakeProvider


def ask(text: str = "hello") -> Request:
    return Request((Message("user", text),))


class Connect(Protocol):
    """Builds a model for a server and closes it after the test."""

    def __call__(self, server: FakeProvider, **parameters: Any) -> OpenAICompatibleModel: ...


@pytest.fixture
def connect() -> Iterator[Connect]:
    with ExitStack() as stack:

        def build(server: FakeProvider, **parameters: Any) -> OpenAICompatibleModel:
            given = {"base_url": server.url, "first_pause": 0.001, **parameters}
            return stack.enter_context(closing(OpenAICompatibleModel("m", **given)))

        yield build


def one(model: LanguageModel, request: Request | None = None) -> Completion | ModelError:
    return all_outcomes(model, [request or ask()])[0]
