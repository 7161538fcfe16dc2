"""One task under way: the script runs on, whatever the agent does; the repository follows the agent."""

from __future__ import annotations

from copy import copy, deepcopy

from perdure.core.types import JSON, Evaluation, Observation
from perdure.core.world import Asked
from perdure.environments.repository.actions import VERBS, WAIT, RepositoryAction, parse_action
from perdure.environments.repository.events import Event, Kind, right_action
from perdure.environments.repository.noise import syslog
from perdure.environments.repository.parameters import Parameters
from perdure.environments.repository.scene import change_world, set_aside, take_place
from perdure.environments.repository.scoring import graded
from perdure.environments.repository.script import write_script
from perdure.environments.repository.world import World
from perdure.environments.skillexec.commands import is_exact
from perdure.environments.skillexec.tally import Tally


class Play:
    """A script, a world and a tally. `world` is readable at any time; it is the true state."""

    def __init__(self, parameters: Parameters, seed: int) -> None:
        self.script = write_script(parameters, seed)
        self.world = World(seed, parameters.verbs, self.script.pull_numbers)
        self._parameters = parameters
        self._seed = seed
        self._tally = Tally()
        self._t = 0
        self._alert = ""
        self._right: RepositoryAction | None = None
        self._lost = False
        """Earlier failures have left nothing to do about the event, or made the right action impossible."""

    def open(self) -> Observation:
        """The first event."""
        return Observation(self._next_event())

    def step(self, action: str) -> Observation:
        """Answer the present event, and see the next one; after the last there is nothing to answer."""
        if self._t == len(self.script.events):
            return Observation("Result: refused, there are no more events.", accepted=False, done=True)
        event = self.script.events[self._t]
        parsed = parse_action(action, VERBS[self._parameters.verbs])
        accepted, news = (False, parsed) if isinstance(parsed, str) else self.world.apply(parsed, self._t)
        lost = self._lost
        right = accepted and parsed == self._right and not (event.actionable and lost)
        self._tally.tolerated += isinstance(parsed, RepositoryAction) and not is_exact(action, str(parsed))
        self._tally.count(event, accepted=accepted, acted=parsed != WAIT, right=right, lost=lost)
        set_aside(self.world)
        self._t += 1
        verdict = "accepted" if accepted else "refused"
        result = f"Result: {verdict}, {news}." if news else f"Result: {verdict}."
        reward = float(right and event.actionable)
        if self._t == len(self.script.events):
            return Observation(
                result, accepted, done=True, reason="the last event was answered", reward=reward
            )
        return Observation(f"{result}\n{self._next_event()}", accepted, reward=reward)

    def state(self) -> JSON:
        """The true state."""
        return self.world.repository.state()

    def asked(self) -> Asked | None:
        """What the present event asks for; None for one that does not count."""
        if not self.script.events[self._t].actionable:
            return None
        return Asked(is_right=self._would_be_right, solvable=not self._lost)

    def grade(self) -> Evaluation:
        """The verdict so far; events that were not reached count as failed."""
        return graded(self._tally, self.script, self.world)

    def _would_be_right(self, action: str) -> bool:
        twin = copy(self)
        twin.world, twin._tally = deepcopy(self.world), Tally()
        return twin.step(action).reward > 0

    def _next_event(self) -> str:
        t = self._t
        if t == self.script.change_at:
            self._alert = change_world(self.world, self._parameters.drift, self.script.affected, t)
        event: Event = self.script.events[t]
        shown, text = take_place(event, self.world, t)
        right = self._right = right_action(shown, self.world.repository, self._parameters.verbs)
        self._lost = right is None or right == WAIT or bool(self.world.obstacle(right))
        noise = syslog(self._parameters, self._seed, t)
        text = f"Event: {self._alert if event.kind is Kind.ALERT else text}"
        return f"{text}\n{noise}" if noise else text
