"""Forms of published task files that no environment reads: told, with what makes the right one."""

from __future__ import annotations

from pathlib import Path

from perdure.core.errors import ConfigError

_TABLES = {".parquet": "parquet", ".csv": "CSV", ".tsv": "TSV", ".arrow": "Arrow", ".xlsx": "Excel"}
_PARQUET = b"PAR1"


def refuse_tables(path: Path, content: bytes) -> None:
    """Raise ConfigError for a table in place of JSON; parquet is known by its first bytes too."""
    form = "parquet" if content.startswith(_PARQUET) else _TABLES.get(path.suffix.lower())
    if form is None:
        return
    cure = (
        f"perdure data import lifelongagentbench {path} --out DIR"
        if form == "parquet"
        else "export it as JSON"
    )
    raise ConfigError(f"tasks: {str(path)!r} is {form}, not JSON: {cure}")
