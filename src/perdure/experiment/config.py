"""One run, described: read from TOML, changed by `--set`, checked, hashed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime
from hashlib import sha256
from json import dumps
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from perdure.core.errors import ConfigError
from perdure.core.types import EPOCH, JSON
from perdure.experiment.orders import Order

_DEEPEST = 64
"""Levels of tables and lists that a configuration may have."""

_LARGEST = 2**64
"""Whole numbers of a configuration are smaller."""

LARGEST_FILE = 16 << 20
"""Bytes of a configuration; what has more, such as a device, is none."""

_INDEX_DIGITS = 9


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PluginSection(BaseModel):
    """A plugin by name; every other key is a parameter of its constructor."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    name: str = Field(min_length=1)

    @property
    def parameters(self) -> Mapping[str, JSON]:
        """What the constructor gets."""
        return self.model_extra or {}


class CallbackSection(PluginSection):
    """A callback, and what it is called where one class is configured several times."""

    label: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.-]+$")


class PriceSection(_Section):
    """US dollars for a million tokens."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class ModelSection(BaseModel):
    """A model: its provider, its price, and the provider's parameters."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    provider: str = Field(min_length=1)
    price: PriceSection | None = None

    @property
    def parameters(self) -> Mapping[str, JSON]:
        """What the provider's constructor gets."""
        return self.model_extra or {}


class SamplingSection(_Section):
    """How the agent's completions are drawn; greedy by default."""

    temperature: float = Field(default=0.0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    stop: list[str] = []
    seed: int | None = None


class AgentSection(_Section):
    """Who acts."""

    kind: Literal["model", "oracle", "do_nothing", "fixed_response"] = "model"
    model: str = "default"
    strategy: PluginSection = PluginSection(name="full_history")
    sampling: SamplingSection = SamplingSection()
    retries: int | None = Field(default=None, ge=0)
    """How often a reply that cannot be used is asked for again; 2, or 0 where the paper is followed."""
    run: str | None = None
    """Run folder whose replies `fixed_response` replays."""


class LimitsSection(_Section):
    """What ends a task that does not end itself; the environment's own limit by default."""

    max_interactions: int | None = Field(default=None, ge=1)
    max_turns: int | None = Field(default=None, ge=1)
    max_seconds: float | None = Field(default=None, gt=0)
    ask_beyond_limit: bool | None = None
    """By default where the environment has `compat = "paper"`, as the original does."""


class ProbesSection(_Section):
    """Frozen probes: all tasks with read-only memory, before the stream and at checkpoints along it."""

    checkpoints: int = Field(ge=1, le=10_000)
    tasks: list[str] | None = Field(default=None, min_length=1)
    """Probe these tasks; those of the environment by default, held-out ones included."""


class ExecutionSection(_Section):
    """How the run is carried out. None of this changes results, so none of it is in the run's identity."""

    out: str | None = Field(default=None, pattern=r"^[^\x00]*$")
    limit: int | None = Field(default=None, ge=1)
    repeat: int = Field(default=1, ge=1)
    snapshot_every: int = Field(default=50, ge=1)
    on_divergence: Literal["restart", "keep"] = "restart"
    cache: bool = False
    fsync: bool = True
    max_parallel: Annotated[int, Field(ge=1, le=4096)] | Literal["auto"] = "auto"
    """Lanes: sessions played side by side."""


WALL = "wall"
_AN_INSTANT = "2026-01-01T12:00:00Z"


class RunConfig(_Section):
    """Everything about one run."""

    name: str = Field(default="run", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    seed: int = 0
    clock: str = EPOCH.isoformat()
    """What worlds give as the present: date, time and offset, as ISO 8601 writes them; or `wall`, the second
    at which each task was first begun."""
    environment: PluginSection
    agent: AgentSection = AgentSection()
    models: dict[str, ModelSection] = {}
    callbacks: list[CallbackSection] = []
    limits: LimitsSection = LimitsSection()
    tasks: list[str] | None = Field(default=None, min_length=1)
    """Only these tasks, in this order; all by default."""
    order: Order = "given"
    stateless: bool = False
    """The control: the same tasks, with callbacks that remember nothing of earlier ones."""
    memory_block: int | None = Field(default=None, ge=1)
    """Memory is frozen for so many sessions, whose deltas are then folded: mini-batches for learners."""
    probes: ProbesSection | None = None
    execution: ExecutionSection = ExecutionSection()

    @field_validator("clock")
    @classmethod
    def _one_spelling(cls, text: str) -> str:
        if text == WALL:
            return text
        try:
            instant = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"expected an instant such as {_AN_INSTANT}, or {WALL!r}") from None
        if instant.tzinfo is None:
            raise ValueError(f"expected an offset from UTC too, such as {_AN_INSTANT}")
        if instant.microsecond:
            raise ValueError(f"expected whole seconds, such as {_AN_INSTANT}")
        return instant.astimezone(UTC).isoformat()

    @property
    def instant(self) -> datetime:
        """`clock` as a moment. The wall clock gives each trial its own when it begins."""
        return EPOCH if self.is_wall_clock else datetime.fromisoformat(self.clock)

    @property
    def is_wall_clock(self) -> bool:
        """Whether worlds are given the time of day."""
        return self.clock == WALL

    def method(self) -> dict[str, JSON]:
        """All but the execution, as plain data; what an agent without a model does not use is left out."""
        plain = self.model_dump(mode="json", exclude={"execution"}, exclude_none=True)
        if self.agent.kind != "model":
            for unused in ("model", "strategy", "sampling"):
                del plain["agent"][unused]
        return plain


def load_config(
    source: Path | str | Mapping[str, JSON],
    sets: Iterable[str] = (),
    *,
    values: Mapping[str, JSON] | None = None,
) -> RunConfig:
    """Read and check a configuration. Raises ConfigError.

    `sets` are `key.path=value` with TOML values; `values` hold plain ones by key, such as a path, which no
    parser sees.
    """
    if isinstance(source, Mapping):
        check_plain({key: value for key, value in source.items() if key != "clock"})
        data, label = _plain_copy(source), "configuration"
    else:
        data, label = read_toml(Path(source)), str(source)
    for assignment in sets:
        apply_set(data, assignment)
    for key, value in (values or {}).items():
        set_key(data, key, value)
    if isinstance(data.get("clock"), datetime):
        data["clock"] = data["clock"].isoformat()
    check_plain(data)
    try:
        return RunConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{label}: {explain(error, RunConfig)}") from error


def apply_set(data: dict[str, JSON], assignment: str) -> None:
    """Carry out one `key.path=value`. A value that is no TOML is taken as a string. Raises ConfigError."""
    path, equals, text = assignment.partition("=")
    keys = [key.strip() for key in path.split(".")]
    if not equals or not all(keys):
        raise ConfigError(f"--set {assignment!r}: expected key.path=value")
    try:
        value = parse_toml(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    except ValueError as error:
        raise ConfigError(f"--set {assignment!r:.80}: {error}") from error
    target: Any = data
    for key in keys[:-1]:
        if isinstance(target, list):
            target = _list_item(target, key, assignment)
        elif isinstance(target, dict):
            target = target.setdefault(key, {})
        else:
            raise ConfigError(f"--set {assignment!r}: {key!r} is not inside a table")
    if isinstance(target, list):
        _list_item(target, keys[-1], assignment)
        target[int(keys[-1])] = value
    elif isinstance(target, dict):
        target[keys[-1]] = value
    else:
        raise ConfigError(f"--set {assignment!r}: {keys[-1]!r} is not inside a table")


def set_key(data: dict[str, JSON], key: str, value: JSON) -> None:
    """Put a value at a dotted key; missing tables are made. Raises ConfigError."""
    *parents, last = key.split(".")
    target: JSON = data
    for part in parents:
        target = _child(target, part, key)
    if isinstance(target, list):
        _child(target, last, key)
        target[int(last)] = deepcopy(value)
    elif isinstance(target, dict):
        target[last] = deepcopy(value)
    else:
        raise ConfigError(f"{key}: {last!r} is not inside a table")


def _child(target: JSON, part: str, key: str) -> JSON:
    if isinstance(target, dict):
        return target.setdefault(part, {})
    if isinstance(target, list) and part in map(str, range(len(target))):
        return target[int(part)]
    raise ConfigError(f"{key}: {part!r} is neither a table nor an index of a list there")


def parse_toml(text: str) -> dict[str, JSON]:
    """The table that a TOML text holds.

    Raises TOMLDecodeError, and plain ValueError for valid TOML that is too large to be read.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def check_plain(data: Mapping[str, JSON], prefix: str = "", depth: int = 1) -> None:
    """Refuse what could not be written down as TOML and as JSON alike: dates, NaN, endless nesting."""
    if depth > _DEEPEST:
        raise ConfigError(f"{prefix:.60}…: at most {_DEEPEST} levels of tables and lists may be nested")
    for key, value in data.items():
        if isinstance(value, Mapping):
            check_plain(value, f"{prefix}{key}.", depth + 1)
        elif isinstance(value, list | tuple):
            check_plain({str(i): item for i, item in enumerate(value)}, f"{prefix}{key}.", depth + 1)
        elif isinstance(value, float) and not isfinite(value):
            raise ConfigError(f"{prefix}{key}: expected a finite number, got {value!r}")
        elif isinstance(value, int) and abs(value) >= _LARGEST:
            raise ConfigError(f"{prefix}{key}: a whole number of {value.bit_length()} bits is too large")
        elif value is not None and not isinstance(value, str | int | float | bool):
            kinds = "a string, a number, true or false, a list or a table"
            raise ConfigError(f"{prefix}{key}: expected {kinds}, got {value!r}")


def config_hash(identity: Mapping[str, JSON]) -> str:
    """Digest of what changes results, 64 hex digits."""
    return sha256(dumps(identity, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """The first problem of a validation, in one line: key, value, valid choices."""
    first = error.errors()[0]
    location = ".".join(str(part) for part in first["loc"]) or "configuration"
    if first["type"] == "extra_forbidden":
        section = _section_at(model, first["loc"][:-1])
        choices = ", ".join(section.model_fields) if section else "none"
        return f"{location}: unknown key; choose one of: {choices}"
    if first["type"] == "missing":
        return f"{location}: missing"
    return f"{location}: {first['msg']}, got {first['input']!r:.200}"


def flatten(data: Mapping[str, JSON], prefix: str = "") -> dict[str, JSON]:
    """`{"a": {"b": 1}, "c": {}}` → `{"a.b": 1}`, for differences between two identities."""
    flat: dict[str, JSON] = {}
    for key, value in data.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{path}."))
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            flat.update(flatten({str(i): item for i, item in enumerate(value)}, f"{path}."))
        else:
            flat[path] = value
    return flat


def read_toml(path: Path, what: str = "configuration file") -> dict[str, JSON]:
    """The content of a file. Raises ConfigError, which says what was not there."""
    try:
        return parse_toml(_bounded_text(path))
    except FileNotFoundError:
        raise ConfigError(f"there is no {what} {str(path)!r}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{str(path)!r} is not valid TOML: {error}") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {str(path)!r}: {error}") from error


def _bounded_text(path: Path) -> str:
    """What a file or a pipe holds. Raises OSError, ValueError."""
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"it has more than {LARGEST_FILE >> 20} MiB")
    return content.decode("utf-8")


def _plain_copy(source: Mapping[str, JSON]) -> dict[str, JSON]:
    return {
        key: _plain_copy(value)
        if isinstance(value, Mapping)
        else [_plain_copy(item) if isinstance(item, Mapping) else item for item in value]
        if isinstance(value, list | tuple)
        else value
        for key, value in source.items()
    }


def _list_item(items: list[Any], key: str, assignment: str) -> Any:
    if not key.isdecimal() or len(key) > _INDEX_DIGITS or int(key) >= len(items):
        raise ConfigError(f"--set {assignment!r}: {key!r} is not an index below {len(items)}")
    return items[int(key)]


def _section_at(model: type[BaseModel], path: Sequence[Any]) -> type[BaseModel] | None:
    """The section that a location of a validation error lies in."""
    section: type[BaseModel] | None = model
    inside = False
    for part in path:
        if inside:  # a key of a table of sections, or an index of a list of them
            inside = False
            continue
        if section is None or part not in section.model_fields:
            return None
        annotation = section.model_fields[part].annotation
        inside = get_origin(annotation) in (dict, list)
        members = [annotation, *get_args(annotation)]
        section = next((m for m in members if isinstance(m, type) and issubclass(m, BaseModel)), None)
    return section
