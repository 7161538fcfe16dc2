"""A run folder as Python objects: `perdure.run` makes one, `perdure.load` opens one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.core.errors import MissingExtra, RunFolderError
from perdure.core.session import PastSessions, SessionRecord
from perdure.core.types import JSON
from perdure.storage.run_reader import RunReader

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
        base: str = self._recorded["base"]
        return (self.folder.resolve() / base).resolve()

    @property
    def hash(self) -> str:
        """Digest of what changes results."""
        digest: str = self._recorded["hash"]
        return digest

    @property
    def method(self) -> Mapping[str, JSON]:
        """What this run's results depend on, its environment's version aside."""
        return {key: value for key, value in self.identity.items() if key != "environment_version"}

    @property
    def identity(self) -> Mapping[str, JSON]:
        """Everything that this run's results depend on; `hash` is its digest."""
        identity: dict[str, JSON] = self._recorded["identity"]
        return identity

    def own_config(self, sets: Iterable[str] = (), *, base: Path | None = None) -> RunConfig:
        """The configuration with the copies that the folder keeps in the place of what lay elsewhere.

        With `base` they are looked for there. `sets` are `key.path=value` changes. Raises ConfigError.
        """
        from perdure.experiment.config import load_config, set_key

        body = self._config.model_dump(mode="json", exclude_none=True)
        kept = self._recorded.get("kept", {}) if base is None else {}
        for key, place in kept.items():
            set_key(body, key, str(self.folder.resolve() / place))
        return load_config(body, sets)

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

    @property
    def metrics(self) -> Mapping[str, JSON]:
        """The environment's metrics; empty while the run is unfinished."""
        from perdure.experiment.run_folder import read_metrics

        return read_metrics(self.folder)

    def refresh(self) -> None:
        """Take in the sessions that were committed since; only those are read."""
        self._reader.refresh()

    def records(self) -> Iterator[SessionRecord]:
        """Slim results, in order."""
        return self._reader.records()

    def steps(self) -> Iterator[dict[str, JSON]]:
        """Every interaction, flat: task_id, repeat, step (from 1), action, observation, accepted, reward."""
        for past in self._reader:
            for number, interaction in enumerate(past.interactions, 1):
                yield {
                    "task_id": past.record.task_id,
                    "repeat": past.record.repeat,
                    "step": number,
                    "action": interaction.action,
                    "observation": interaction.observation.text,
                    "accepted": interaction.observation.accepted,
                    "reward": interaction.observation.reward,
                }

    def summary(self) -> RunSummary:
        """The run in a few numbers."""
        from perdure.metrics.summary import summarise

        open_tasks = (task.ledger_line() for task in self._reader.open_tasks())
        return summarise(self.records(), self._reader.ledger(), open_tasks)

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
    accept_version: bool = False,
) -> Run:
    """Run an experiment, or resume it, and return the finished run.

    `config` is a TOML file or the same as a mapping; `sets` are `key.path=value` changes; `out` is the run
    folder (default: `runs/<name>-<hash>`); `watchers` are callbacks that only look, such as `progress`.
    Relative paths are looked for beside the file, then in the current folder. `accept_version` goes on with a
    run that another version of perdure began.
    Raises UsageError, InfrastructureError.
    """
    from perdure.experiment.config import load_config
    from perdure.experiment.experiment import Experiment

    values = {"execution.out": str(out)} if out is not None else {}
    base = None if isinstance(config, Mapping) else Path(config).resolve().parent
    loaded = load_config(config, sets, values=values)
    with Experiment(loaded, base=base, watchers=watchers, accept_version=accept_version) as experiment:
        experiment.run()
        return Run(experiment.folder)


def _frame(rows: list[dict[str, JSON]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        from perdure.core.installation import add_packages

        raise MissingExtra("pandas", add_packages("pandas")) from None
    return pandas.DataFrame(rows)
