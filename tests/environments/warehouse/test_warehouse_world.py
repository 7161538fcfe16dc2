"""Invariants that hold whatever an agent does."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.core.types import Trial
from perdure.environments.skillexec.environment import true_states
from perdure.environments.warehouse import WarehouseEnvironment, script_digest
from perdure.environments.warehouse.events import Kind
from perdure.environments.warehouse.parameters import Parameters
from perdure.environments.warehouse.play import Play
from perdure.environments.warehouse.script import write_script

SCRIPTS = {
    "42": ("aa7bcc8660a3", "a9685e4e5e1e", "6217284a279a", "9d9cc8c26c4f", "f08413e66732"),
    "43": ("7c0b511309e6", "241083052a51", "32a55e7415eb", "02e882ea5869", "713a094ab400"),
    "44": ("c4b32ea8a30e", "429073cbd61d", "7aa147a671ed", "e103b281edd3", "b56d7e22644a"),
    "45": ("cc3559fe74aa", "37b961e7fe87", "b13055b122db", "a2343b86cac1", "6741466acfe3"),
    "46": ("5f9a7778912b", "8957c9316226", "be087fe15f04", "10ba132f61a2", "538a1aff7ba5"),
}
HORIZONS = (10, 50, 100, 200, 1000)

items = st.integers(0, 60).map(lambda number: f"item_{number}")
shelves = st.integers(0, 45).map(lambda number: f"shelf_{number}")
commands = st.one_of(
    st.builds("Store {} {}".format, items, shelves),
    st.builds("Ship {} {}".format, items, shelves),
    st.builds("Move {} {} {}".format, items, shelves, shelves),
    st.just("Wait"),
    st.just("nonsense"),
)
configurations = st.fixed_dictionaries(
    {
        "profile": st.sampled_from(["paper", "growth"]),
        "placement": st.sampled_from(["lowest", "any"]),
        "drift": st.sampled_from(["none", "A", "B", "C", "D", "D_prime"]),
        "noise": st.sampled_from([0, 5]),
        "shelves": st.just(40),
        "horizon": st.just(40),
    }
)


@pytest.mark.parametrize("seed", SCRIPTS)
def test_scripts_are_the_same_everywhere(seed: str) -> None:
    assert (
        tuple(script_digest(WarehouseEnvironment(horizon=horizon), seed)[:12] for horizon in HORIZONS)
        == SCRIPTS[seed]
    )


def guided(play: Play, command: str, follow: bool) -> str:
    """The given command, or a physically possible answer to the present event."""
    if not follow:
        return command
    world = play.world
    if world.dock:
        return f"Store {world.dock} shelf_{world.lowest_empty()}"
    if world.due in world.places:
        return f"Ship {world.due} shelf_{world.places[world.due]}"
    item = next(iter(world.places), None)
    return f"Move {item} shelf_{world.places[item]} shelf_{world.lowest_empty()}" if item else "Wait"


@settings(max_examples=60, deadline=None)
@given(
    configurations,
    st.integers(0, 10**6),
    st.lists(st.tuples(commands, st.booleans()), min_size=40, max_size=40),
)
def test_invariants_under_any_actions(
    knobs: dict[str, Any], seed: int, answers: list[tuple[str, bool]]
) -> None:
    parameters = Parameters(**knobs)
    play = Play(parameters, seed)
    before = play.script.digest()
    observation = play.open()
    stored = shipped = 0
    actions = []
    for command, follow in answers:
        action = guided(play, command, follow)
        actions.append(action)
        digest, changing = play.world.digest(), _next_kind(play) in _SELF_CHANGING
        observation = play.step(action)
        stored += observation.accepted and action.startswith("Store")
        shipped += observation.accepted and action.startswith("Ship")
        inventory = play.world.state()["inventory"]
        assert len(set(inventory.values())) == len(inventory), "an item stands on two shelves"
        assert len(inventory) == stored - shipped
        if not observation.accepted and not changing:
            assert play.world.digest() == digest, "a refused action changed the world"
    assert observation.done
    assert write_script(parameters, seed).digest() == before
    states = list(true_states(WarehouseEnvironment(**knobs), Trial(str(seed)), actions))
    assert len(states) == 40
    assert states[-1] == play.world.state()


_SELF_CHANGING = {Kind.HELD_ORDER, Kind.RELEASE, Kind.ALERT, None}


def _next_kind(play: Play) -> Kind | None:
    """The kind of the present event or, where the world changes by itself after it, that of the change."""
    t = play._t
    if play.script.change_at == t + 1:
        return None
    kinds = [event.kind for event in play.script.events[t : t + 2]]
    return next((kind for kind in kinds if kind in _SELF_CHANGING), kinds[0])


def test_noise_leaves_world_and_rewards_as_they_are() -> None:
    quiet, noisy = Play(Parameters(), 42), Play(Parameters(noise=50, noise_tier="override"), 42)
    quiet.open()
    assert noisy.open().text.count("\n") == 51
    for _ in range(100):
        dock = quiet.world.dock
        action = f"Store {dock} shelf_{quiet.world.lowest_empty()}" if dock else "Wait"
        plain, loud = quiet.step(action), noisy.step(action)
        assert loud.text.startswith(plain.text)
        assert (plain.accepted, plain.reward) == (loud.accepted, loud.reward)
        assert quiet.world.digest() == noisy.world.digest()


def test_numbers_of_items_do_not_tell_their_order() -> None:
    arrivals = [event.item for event in write_script(Parameters(horizon=200), 42).events if event.item]
    numbers = [int(item.removeprefix("item_")) for item in dict.fromkeys(arrivals)]
    rising = sum(a < b for a, b in pairwise(numbers))
    assert 0.3 < rising / (len(numbers) - 1) < 0.7


def test_dense_tasks_begin_with_six_unscored_manifest_pages() -> None:
    play = Play(Parameters(profile="dense"), 42)
    texts = [play.open().text, *(play.step("Wait").text for _ in range(6))]
    assert [text.count("item_") for text in texts[:6]] == [20] * 6
    assert "manifest page 6 of 6" in texts[5]
    assert len(play.script.events) == 106
    assert play.grade().detail["needless"] == 0


def test_dense_orders_and_maintenance_touch_the_older_half() -> None:
    script = write_script(Parameters(profile="dense", horizon=50), 42)
    touched = [event.item for event in script.events if event.kind in (Kind.ORDER, Kind.MAINTENANCE)]
    assert touched
    assert set(touched) <= set(script.preload[:100])


def test_an_order_names_no_shelf_and_maintenance_no_item() -> None:
    play = Play(Parameters(profile="dense", horizon=100), 42)
    texts = [play.open().text, *(play.step("Wait").text for _ in range(105))]
    assert not [text for text in texts if "customer ordered" in text and "shelf_" in text]
    maintained = [text for text in texts if "maintenance on" in text]
    assert maintained
    assert not [text for text in maintained if "item_" in text]


def test_results_do_not_repeat_the_action() -> None:
    play = Play(Parameters(), 42)
    play.open()
    first = play.step(f"Store {play.world.dock} shelf_0").text.splitlines()[0]
    second = play.step("Store item_999 shelf_499").text.splitlines()[0]
    assert first == "Result: accepted."
    assert second.startswith("Result: refused, ")
    assert "item_" not in second
    assert "shelf_" not in second
