"""The callbacks of a configuration, before they are built: labels, and what their memory allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from perdure.core.callback import Callback, label_of
from perdure.experiment.config import CallbackSection
from perdure.experiment.frozen import FrozenCallbacks
from perdure.experiment.plugins import Load, Plugins
from perdure.experiment.registry import Plugin


@dataclass(frozen=True)
class CallbackPart:
    """One callback of a run."""

    plugin: Plugin
    section: CallbackSection
    where: str

    @property
    def label(self) -> str:
        """What it is called in the run: in records, ledger and tables."""
        return self.section.label or label_of(self.plugin.target)

    @property
    def watches(self) -> bool:
        """Whether it changes nothing."""
        return bool(self.plugin.target.reach == "watch")

    @property
    def learns(self) -> bool:
        """Whether there is a memory to freeze."""
        return bool(self.plugin.target.reach == "stream" and self.plugin.target.learns)

    def build(self, plugins: Plugins, offered: Mapping[str, Any], given: Mapping[str, Any]) -> Callback:
        """A new instance. Raises ConfigError."""
        callback: Callback = plugins.construct(
            self.plugin,
            self.section.parameters,
            self.where,
            offered,
            given,
            caller=f"callback:{self.label}",
        )
        callback.label = self.section.label or ""
        return callback


def callback_parts(
    sections: Sequence[CallbackSection], watchers: Iterable[str], load: Load
) -> list[CallbackPart]:
    """Callbacks of the configuration in its order, then the run's own watchers. Raises UsageError."""
    named = {section.name for section in sections}
    wanted = [(section, f"callbacks.{number}") for number, section in enumerate(sections)]
    wanted += [(CallbackSection(name=name), name) for name in watchers if name not in named]
    return [CallbackPart(load("callback", section.name), section, where) for section, where in wanted]


def frozen_callbacks(
    parts: Sequence[CallbackPart],
    build: Callable[[Iterable[CallbackPart]], list[Callback]],
    *,
    watch: bool = True,
    **state: Any,
) -> FrozenCallbacks:
    """Those that learn get a read-only memory (`state` goes to `FrozenCallbacks`), the others do not."""
    learning = [part for part in parts if part.learns]
    others = [part for part in parts if not part.learns and (watch or not part.watches)]
    return FrozenCallbacks(
        lambda: build(learning), others=build(others), labels=[part.label for part in parts], **state
    )
