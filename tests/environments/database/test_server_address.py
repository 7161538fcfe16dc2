from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.core.errors import ConfigError, EnvironmentUnavailable
from perdure.environments.database import DatabaseEnvironment
from perdure.environments.database.server.address import PASSWORD_VARIABLE, Address, parse_url
from perdure.environments.database.server.container import MysqlContainer
from perdure.environments.database.server.engine import ServerEngine


def test_a_url_names_account_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, "s3cret")
    address = parse_url("mysql://ro%40ot@db.example.org:3307/")
    assert (address.user, address.host, address.port) == ("ro@ot", "db.example.org", 3307)
    assert address.password == "s3cret"
    assert "s3cret" not in f"{address} {address!r}"


def test_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSWORD_VARIABLE, raising=False)
    address = parse_url("mariadb://root@localhost/?unix_socket=/run/mysqld/mysqld.sock")
    assert address.socket == "/run/mysqld/mysqld.sock"
    assert address.password == ""


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "postgres://root@localhost/",
        "mysql://localhost/",
        "mysql://root@localhost/database",
        "mysql://root@localhost/?charset=latin1",
        "mysql://root@localhost:port/",
        "mysql://root@localhost/?ssl_ca=/does/not/exist.pem",
        "mysql://[root@localhost/",
    ],
)
def test_a_bad_url_is_one_line(url: str | None) -> None:
    with pytest.raises(ConfigError, match=r"\Aengine_url [^\n]+\Z|\Aengine_url: [^\n]+\Z"):
        parse_url(url)


@given(st.text(st.characters(categories=["L", "N"], max_codepoint=0x7F), min_size=8))
def test_a_password_in_the_url_is_refused_and_not_repeated(password: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_url(f"mysql://root:{password}@localhost/")
    assert PASSWORD_VARIABLE in str(raised.value)
    assert f":{password}@" not in str(raised.value)


def test_a_url_is_for_the_engine_that_uses_it() -> None:
    with pytest.raises(ValueError, match="engine_url is for engine 'mysql'"):
        DatabaseEnvironment(engine="mariadb", engine_url="mysql://root@localhost/")
    with pytest.raises(ConfigError, match="engine_url is needed"):
        DatabaseEnvironment(engine="mysql")


def test_an_unknown_engine_is_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match="sqlite, mysql, mariadb, docker"):
        DatabaseEnvironment(engine="postgres")  # type: ignore[arg-type]


def test_without_docker_the_engine_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docker", reason="the docker client is not installed")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    with pytest.raises(EnvironmentUnavailable, match=r"mysql:8\.4"):
        MysqlContainer()


def test_no_server_is_an_environment_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnavailable, match="nowhere"):
        ServerEngine(Address("root", "", socket=str(tmp_path / "nowhere")))
