"""What was right, and what that makes: both scores, recovery from a drift, fidelity of a state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perdure.core.session import SessionRecord
from perdure.core.types import JSON, Evaluation
from perdure.environments.repository.events import Kind
from perdure.environments.repository.script import Script
from perdure.environments.repository.world import World
from perdure.environments.skillexec.tally import Tally, event_metrics, f1

_MEANS = (
    "score",
    "score_local",
    "feature_score",
    "breaking_merges",
    "premise_lost",
    "refused",
    "needless",
    "recovery_steps",
    "recovered",
)


def graded(tally: Tally, script: Script, world: World) -> Evaluation:
    """The verdict over the whole script, played or not.

    `score` is right actions / actionable events; `feature_score` is feature requests that were merged on
    fresh passing tests, less merges that broke main, over those that right answers merge.
    """
    merged = max(0, world.merged_well - world.breaking_merges)
    feature_score = min(1.0, merged / script.merges) if script.merges else None
    further = {"feature_score": feature_score, "breaking_merges": world.breaking_merges}
    return tally.grade(script.events, sum(event.probe for event in script.events), further)


def repository_metrics(records: Iterable[SessionRecord]) -> dict[str, float]:
    """Means over sessions, action ratios by kind of event, and the usual counts of sessions."""
    return event_metrics(records, _MEANS, list(Kind))


def state_fidelity(state: JSON, truth: JSON) -> float:
    """F1 of a believed state against the true one, over all `path, value` leaves."""
    return f1(_leaves(state, ()), _leaves(truth, ()))


def _leaves(value: JSON, path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], str]]:
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _leaves(entry, (*path, str(key)))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _leaves(entry, (*path, str(index)))
    else:
        yield path, repr(value)
