"""One task under way: the script runs on, whatever the agent does; the world follows the agent."""

from __future__ import annotations

from copy import copy, deepcopy

from perdure.core.randomness import keyed_random
from perdure.core.types import JSON, Evaluation, Observation
from perdure.core.world import Asked
from perdure.environments.skillexec.commands import is_exact
from perdure.environments.skillexec.tally import Tally
from perdure.environments.warehouse.actions import NO_OP, WarehouseAction, parse_action, verbs_of
from perdure.environments.warehouse.change import change_world
from perdure.environments.warehouse.events import Event, Kind
from perdure.environments.warehouse.noise import telemetry
from perdure.environments.warehouse.parameters import Parameters
from perdure.environments.warehouse.scoring import is_right
from perdure.environments.warehouse.script import write_script
from perdure.environments.warehouse.world import World, shelf_name


class Play:
    """A script, a world and a tally. `world` is readable at any time; it is the true state."""

    def __init__(self, parameters: Parameters, seed: int) -> None:
        self.script = write_script(parameters, seed)
        self.world = World(parameters.shelves, parameters.placement, self.script.preload)
        self._parameters = parameters
        self._verbs = verbs_of(parameters)
        self._seed = seed
        self._tally = Tally()
        self._t = 0
        self._alert = ""
        self._answer = ""
        self._lost = False

    def open(self) -> Observation:
        """The first event."""
        return Observation(self._next_event())

    def step(self, action: str) -> Observation:
        """Answer the present event, and see the next one; after the last there is nothing to answer."""
        if self._t == len(self.script.events):
            return Observation("Result: refused, there are no more events.", accepted=False, done=True)
        event = self.script.events[self._t]
        parsed = parse_action(action, self._verbs)
        reason = parsed if isinstance(parsed, str) else self._apply(parsed, event)
        accepted = not reason
        right = isinstance(parsed, WarehouseAction) and accepted and is_right(event, parsed, self._answer)
        acted = isinstance(parsed, WarehouseAction) and parsed.verb != NO_OP
        self._tally.tolerated += isinstance(parsed, WarehouseAction) and not is_exact(action, str(parsed))
        self._tally.count(event, accepted=accepted, acted=acted, right=right, lost=self._lost)
        self._lapse(event)
        self._t += 1
        result = "Result: accepted." if accepted else f"Result: refused, {reason}."
        reward = float(right and event.actionable)
        if self._t == len(self.script.events):
            return Observation(
                result, accepted, done=True, reason="the last event was answered", reward=reward
            )
        return Observation(f"{result}\n{self._next_event()}", accepted, reward=reward)

    def state(self) -> JSON:
        """The true state."""
        return self.world.state()

    def asked(self) -> Asked | None:
        """What the present event asks for; None for one that does not count."""
        if not self.script.events[self._t].actionable:
            return None
        return Asked(is_right=self._would_be_right, solvable=not self._lost)

    def grade(self) -> Evaluation:
        """The verdict so far; events that were not reached count as failed."""
        drifts = self._parameters.drift != "none"
        return self._tally.grade(self.script.events, self._parameters.probes if drifts else 0, {})

    def _apply(self, action: WarehouseAction, event: Event) -> str:
        if action.verb == "Answer" and event.kind is not Kind.QUESTION:
            return "nothing was asked"
        return self.world.apply(action)

    def _lapse(self, event: Event) -> None:
        """What was not done in its turn cannot be done later."""
        self.world.dock = self.world.due = self._answer = ""
        if event.kind is Kind.RELEASE and event.item in self.world.held:
            self.world.held.remove(event.item)

    def _would_be_right(self, action: str) -> bool:
        twin = copy(self)
        twin.world, twin._tally = deepcopy(self.world), Tally()
        return twin.step(action).reward > 0

    def _next_event(self) -> str:
        if self._t == self.script.change_at:
            self._alert = change_world(self.world, self.script, self._seed, self._parameters.drift)
        event = self.script.events[self._t]
        self._lost = self._is_lost(event)
        text = f"Event: {self._tell(event)}"
        noise = telemetry(self._parameters, self._seed, self._t)
        return f"{text}\n{noise}" if noise else text

    def _is_lost(self, event: Event) -> bool:
        match event.kind:
            case Kind.ORDER | Kind.MAINTENANCE | Kind.RELEASE | Kind.CUSTOMER_ORDER:
                return event.item not in self.world.places
            case Kind.QUESTION:
                return event.item not in self.world.first_shelves
            case _:
                return False

    def _tell(self, event: Event) -> str:
        """Set the scene for an event and return its text."""
        world, item = self.world, event.item
        match event.kind:
            case Kind.ARRIVAL:
                world.dock = item
                return f"shipment arrived: {item}."
            case Kind.ORDER:
                world.due = item
                return f"customer ordered: {item}."
            case Kind.MAINTENANCE:
                return f"maintenance on {shelf_name(self._maintained(item))}."
            case Kind.CHATTER:
                return f"for your information, {event.detail}."
            case Kind.MANIFEST:
                return f"manifest page {event.detail}: {world.listing(event.items)}."
            case Kind.ALERT:
                return self._alert
            case _:
                return self._tell_special(event)

    def _tell_special(self, event: Event) -> str:
        """Events that only drifts and tiers have."""
        world, item = self.world, event.item
        match event.kind:
            case Kind.HELD_ORDER:
                world.held.append(item)
                return f"order on hold: {item}."
            case Kind.RELEASE:
                world.due = item if item in world.held else ""
                return f"hold ends for the order of {item}."
            case Kind.CLOSURE:
                shelf = world.lowest_empty()
                world.close(shelf)
                return f"{shelf_name(shelf)} is closed until it is opened again; put nothing there."
            case Kind.REOPENING:
                return f"{shelf_name(world.reopen() or 0)} is open again."
            case Kind.RESERVATION:
                return f"for your information, {item} is reserved for {event.detail}."
            case Kind.CUSTOMER_ORDER:
                world.due = item
                return f"{event.detail} ordered what is reserved in this name."
            case Kind.QUESTION:
                self._answer = shelf_name(world.first_shelves.get(item, -1))
                return f"audit question, on which shelf did {item} stand first?"
            case _:
                raise ValueError(f"no text for {event.kind!r}")

    def _maintained(self, item: str) -> int:
        """The item's shelf; for a lost item some empty one, so that nothing else is drawn into it."""
        if item in self.world.places:
            return self.world.places[item]
        start = keyed_random(self._seed, "lost", self._t).randrange(self.world.shelves)
        return self.world.empty_from(start)
