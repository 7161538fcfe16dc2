"""What a run can find at all, said before it starts."""

from __future__ import annotations

from perdure.experiment.experiment import Experiment
from perdure.metrics.statistics import minimum_detectable_effect


def detectable_effect(experiment: Experiment) -> float:
    """The smallest difference of success that pairing these sessions with another run's would find."""
    return minimum_detectable_effect(len(experiment.schedule))


def detectable_line(experiment: Experiment) -> str:
    """The same as a line, with what it supposes."""
    return (
        f"minimum detectable effect: {detectable_effect(experiment):.3f} over {len(experiment.schedule)} "
        "paired sessions (80 % power, 5 % level, a quarter of the pairs differing); "
        "sessions of one stream depend on each other: repeat it over seeds and orders"
    )
