"""Where a server is and who we are there. Passwords come from the environment, never from a configuration."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from perdure.core.errors import ConfigError

PASSWORD_VARIABLE = "PERDURE_DATABASE_PASSWORD"
_SCHEMES = ("mysql", "mariadb")
_OPTIONS = frozenset({"unix_socket", "ssl_ca"})


@dataclass(frozen=True)
class Address:
    """One account on one server: a Unix socket where `socket` is given, otherwise TCP."""

    user: str
    password: str = field(repr=False)
    host: str = "localhost"
    port: int = 3306
    socket: str | None = None
    tls: ssl.SSLContext | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return self.socket if self.socket is not None else f"{self.host}:{self.port}"


def parse_url(url: str | None, password_variable: str = PASSWORD_VARIABLE) -> Address:
    """`mysql://user@host:3306/`, with `?unix_socket=/path` or `?ssl_ca=/path.pem`, as an address.

    The password is read from the environment variable, which may be unset for an account without one. A
    configuration is written to the run folder, so a password in the URL is refused. Raises ConfigError.
    """
    if not url:
        raise ConfigError("engine_url is needed for engine 'mysql', like mysql://user@host:3306/")
    try:
        parts = urlsplit(url)
        port = parts.port or 3306
    except ValueError as error:
        raise ConfigError(f"engine_url is not a URL: {error}") from None
    if parts.password is not None:
        raise ConfigError(
            "engine_url must not hold a password, which would be written to the run folder: put it in the "
            f"environment variable {password_variable} (or another one named by engine_password_env)"
        )
    if parts.scheme not in _SCHEMES or not parts.username:
        raise ConfigError(f"engine_url {url!r} must look like mysql://user@host:3306/")
    options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    unknown = sorted(options.keys() - _OPTIONS)
    if unknown or parts.path.strip("/"):
        what = f"option {unknown[0]!r}" if unknown else f"path {parts.path!r}"
        raise ConfigError(f"engine_url {url!r}: unknown {what}; known options: {', '.join(sorted(_OPTIONS))}")
    return Address(
        unquote(parts.username),
        os.environ.get(password_variable, ""),
        parts.hostname or "localhost",
        port,
        options.get("unix_socket"),
        _verified(options["ssl_ca"]) if "ssl_ca" in options else None,
    )


def _verified(authority: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"engine_url: ssl_ca {authority!r} cannot be used: {error}") from None
