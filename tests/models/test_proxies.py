"""The proxy that the environment names for an address, by the rules that curl and others share."""

from __future__ import annotations

import pytest

from perdure.models.connections import proxy_for


@pytest.mark.parametrize(
    ("variables", "scheme", "host", "proxy"),
    [
        ({}, "https", "api.example.org", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https", "api.example.org", "http://p:1"),
        ({"https_proxy": "http://p:1"}, "https", "api.example.org", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1"}, "http", "api.example.org", None),
        ({"http_proxy": "p:1"}, "http", "api.example.org", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "https", "api.example.org", "http://p:1"),
        ({"ALL_PROXY": "http://p:1", "HTTPS_PROXY": "http://q:2"}, "https", "a.org", "http://q:2"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "example.org"}, "https", "api.example.org", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "other.org"}, "https", "example.org", "http://p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "localhost,127.0.0.1"}, "http", "127.0.0.1", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, "https", "api.example.org", None),
    ],
)
def test_the_environment_names_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    scheme: str,
    host: str,
    proxy: str | None,
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert proxy_for(scheme, host) == proxy
