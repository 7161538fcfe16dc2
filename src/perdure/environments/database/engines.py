"""The engines by name. Each is imported when it is opened: a server's driver is an extra."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from perdure.environments.database.engine import SqlEngine
from perdure.environments.database.server.address import Address

EngineName: TypeAlias = Literal["sqlite", "mysql", "mariadb", "docker"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)


def open_engine(name: EngineName, *, timeout: float = 5.0, address: Address | None = None) -> SqlEngine:
    """A started engine without a database; `timeout` in seconds ends a statement.

    `sqlite` is embedded, `mysql` uses the server at `address`, `mariadb` starts a private server from the
    machine's package, `docker` a container of MySQL 8.4. Raises MissingExtra or EnvironmentUnavailable.
    """
    if name == "sqlite":
        from perdure.environments.database.sqlite.engine import SqliteEngine

        return SqliteEngine(timeout=timeout)
    from perdure.environments.database.server.engine import ServerEngine

    if name == "mysql":
        if address is None:
            raise ValueError("engine 'mysql' needs the address of a server")
        return ServerEngine(address, timeout=timeout)
    from perdure.environments.database.server.container import MysqlContainer
    from perdure.environments.database.server.mariadb import MariadbServer

    server = MariadbServer() if name == "mariadb" else MysqlContainer()
    return ServerEngine(server.address, timeout=timeout, stop=server.stop)
