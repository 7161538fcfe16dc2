"""A run folder as Python objects: `perdure.run` makes one, `perdure.load` opens one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.core.errors import MissingExtra, RunFolderError
from perdure.core.session import PastSessions, SessionRecord
from perdure.core.types import JSON
from perdure.storage.run_store import RunReader

if TYPE_CHECKING:
    import pandas

    from perdure.experiment.config import RunConfig
    from perdure.metrics.summary import RunSummary


class Run:
    """A finished or unfinished run, read lazily from its folder. Raises RunFolderError."""

    def __init__(self, folder: Path) -> None:
        from perdure.experiment.run_folder import read_config

        self.folder = folder
        self._config, self._recorded = read_config(folder)
        self._reader = RunReader(folder)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {len(self.sessions)} sessions)"

    @property
    def config(self) -> RunConfig:
        """The resolved configuration."""
        return self._config

    @property
    def base(self) -> Path:
        """The folder that relative paths of the configuration start from."""
        return Path(self._recorded["base"])

    @property
    def hash(self) -> str:
        """Digest of what changes results."""
        digest: str = self._recorded["hash"]
        return digest

    @property
    def planned(self) -> int:
        """How many sessions the schedule holds, finished or not."""
        return max(int(self._recorded.get("planned", 0)), len(self._reader))

    @property
    def environment_version(self) -> str:
        """The version of the environment that the sessions were played in."""
        version = self._recorded["identity"].get("environment_version")
        if not isinstance(version, str):
            path = self.folder / "config.toml"
            raise RunFolderError(f"{str(path)!r} does not say 'recorded.identity.environment_version'")
        return version

    @property
    def sessions(self) -> PastSessions:
        """Finished sessions with their texts, read when indexed."""
        return self._reader

    @property
    def reader(self) -> RunReader:
        """The folder's files: exact prompts, ledger lines, raw records."""
        return self._reader

    @cached_property
    def metrics(self) -> Mapping[str, JSON]:
        """The environment's metrics; empty while the run is unfinished."""
        path = self.folder / "metrics.json"
        try:
            body = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise RunFolderError(f"{str(path)!r} cannot be read: {error}") from error
        metrics = body.get("environment") if isinstance(body, dict) else None
        if not isinstance(metrics, dict):
            raise RunFolderError(f"{str(path)!r} cannot be read: it has no table 'environment'")
        for key, value in metrics.items():
            if not isinstance(value, int | float):
                raise RunFolderError(f"{str(path)!r} cannot be read: {key!r} is {value!r:.80}, not a number")
        return metrics

    def records(self) -> Iterator[SessionRecord]:
        """Slim results, in order."""
        return self._reader.records()

    def steps(self) -> Iterator[dict[str, JSON]]:
        """Every interaction, flat: task_id, sample, step (from 1), action, observation, accepted, reward."""
        for past in self._reader:
            for number, interaction in enumerate(past.interactions, 1):
                yield {
                    "task_id": past.record.task_id,
                    "sample": past.record.sample,
                    "step": number,
                    "action": interaction.action,
                    "observation": interaction.observation.text,
                    "accepted": interaction.observation.accepted,
                    "reward": interaction.observation.reward,
                }

    def summary(self) -> RunSummary:
        """The run in a few numbers."""
        from perdure.metrics.summary import summarise

        return summarise(self.records(), self._reader.ledger())

    def sessions_frame(self) -> pandas.DataFrame:
        """One row a session. Raises MissingExtra without pandas."""
        rows = []
        for record in self.records():
            row = {**vars(record), **{f"detail.{key}": value for key, value in record.detail.items()}}
            del row["detail"]
            rows.append({**row, "status": str(record.status), "outcome": str(record.outcome)})
        return _frame(rows)

    def steps_frame(self) -> pandas.DataFrame:
        """One row an interaction. Raises MissingExtra without pandas."""
        return _frame(list(self.steps()))


def load(path: str | Path) -> Run:
    """Open a run folder. Raises RunFolderError when it is none."""
    return Run(Path(path))


def run(
    config: str | Path | Mapping[str, JSON],
    *,
    sets: Iterable[str] = (),
    out: str | Path | None = None,
    watchers: Iterable[str] = (),
) -> Run:
    """Run an experiment, or resume it, and return the finished run.

    `config` is a TOML file or the same as a mapping; `sets` are `key.path=value` changes; `out` is the run
    folder (default: `runs/<name>-<hash>`); `watchers` are callbacks that only look, such as `progress`.
    Relative paths are looked for beside the file, then in the current folder.
    Raises UsageError, InfrastructureError.
    """
    from perdure.experiment.config import load_config
    from perdure.experiment.experiment import Experiment

    values = {"execution.out": str(out)} if out is not None else {}
    base = None if isinstance(config, Mapping) else Path(config).resolve().parent
    with Experiment(load_config(config, sets, values), base=base, watchers=watchers) as experiment:
        experiment.run()
        return Run(experiment.folder)


def _frame(rows: list[dict[str, JSON]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise MissingExtra("pandas", "pip install pandas") from None
    return pandas.DataFrame(rows)
