"""Every exception of the package, what it means and who catches it.

    PerdureError
    ├── UsageError                 the user's input is wrong: exit 2, one line, nothing was changed
    │   ├── ConfigError            a key, value or file of a configuration
    │   ├── PluginNotFound         a name that nothing provides
    │   ├── MissingExtra           an optional part is not installed; names the one command that brings it
    │   └── RunFolderError         a folder that holds another run, is locked, or cannot be read
    ├── InfrastructureError        the world broke, not the agent: the run stops, resumable, exit 1
    │   ├── ModelUnavailable       a model server that is down, refuses the key, or rejects every request
    │   ├── EnvironmentUnavailable a database, sandbox or service that an environment needs is dead
    │   └── StorageError           the disk is full or read-only
    ├── ModelError                 a reply that could not be had: *data*, becomes a session status
    ├── Refusal                    what a tool of a `StateAgent` raises to refuse a call: the model is told
    ├── ContractBroken             a plugin gave what its contract forbids: a bug in it, exit 1
    ├── IllegalTransition          a session was moved where it cannot go: a bug in a plugin or here
    └── Divergence                 a resumed task asked for something its log does not hold

A bad reply of a model is never an exception; see `SessionStatus`.
"""

from __future__ import annotations

from collections.abc import Iterable

from perdure.core.types import SessionStatus


class PerdureError(Exception):
    """Root of the tree."""


class UsageError(PerdureError):
    """The user's input is wrong. The message is one line that names the thing, the value and the choices."""


class ConfigError(UsageError):
    """A configuration cannot be used as it is."""


class PluginNotFound(UsageError):
    """No plugin has this name."""

    def __init__(self, kind: str, name: str, choices: Iterable[str]) -> None:
        known = ", ".join(sorted(choices)) or "none"
        super().__init__(f"unknown {kind} {name!r}; choose one of: {known}, or give 'file.py:Class'")


class MissingExtra(UsageError):
    """An optional part is not installed; `command` brings it."""

    def __init__(self, part: str, command: str) -> None:
        super().__init__(f"{part} is not installed; run: {command}")
        self.part = part
        self.command = command


class RunFolderError(UsageError):
    """A run folder cannot be opened."""


class InfrastructureError(PerdureError):
    """Something outside the agent broke. The run stops and can be resumed; nothing is scored."""


class ModelUnavailable(InfrastructureError):
    """The model cannot be asked at all."""


class EnvironmentUnavailable(InfrastructureError):
    """What an environment needs (database, sandbox, service) is gone."""


class StorageError(InfrastructureError):
    """The run folder cannot be written."""


class ModelError(PerdureError):
    """One reply could not be had. `status` says what becomes of the session.

    Returned by `LanguageModel.generate` as the outcome of one request, raised only inside an agent.
    """

    def __init__(self, message: str, status: SessionStatus = SessionStatus.AGENT_UNKNOWN_ERROR) -> None:
        if not status.is_abnormal_inference:
            raise ValueError(f"a model error cannot mean {status!r}")
        super().__init__(message)
        self.status = status
        self.seconds = 0.0
        """From when the request was sent to its refusal, without the wait for a connection; 0 where nobody
        measured."""


class Refusal(PerdureError):
    """Raised by a tool of a `StateAgent`: the call was not carried out and changed nothing.

    The model is shown the message, and the patch that came with the call is dropped.
    """


class ContractBroken(PerdureError):
    """A plugin gave what its contract forbids. The session under way is not kept; those before it are."""


class IllegalTransition(PerdureError):
    """A session cannot move from where it stands to where it was sent."""


class Divergence(PerdureError):
    """While a task is re-executed, a request or an observation differs from the recorded one."""
