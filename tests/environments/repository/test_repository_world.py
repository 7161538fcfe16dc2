"""Invariants that hold whatever an agent does, and those of a right course of action."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.core.types import Trial
from perdure.environments.repository import RepositoryEnvironment, script_digest
from perdure.environments.repository.actions import WAIT, parse_action
from perdure.environments.repository.events import Kind
from perdure.environments.repository.parameters import Parameters, Verbs
from perdure.environments.repository.play import Play
from perdure.environments.repository.script import write_script
from perdure.environments.repository.store import ROOT, Pull, Repository
from perdure.environments.skillexec.environment import true_states

SCRIPTS = {
    "42": ("8c4635fb9f4a", "af1ad5cc3fee", "d0868f8f3d86", "1292db4915b5", "09bc06225ebc"),
    "43": ("6c7244077cfa", "c045d88ce6bd", "829707c3e315", "2fb9092de2a1", "ad99473114e1"),
    "44": ("7c2dbbcd8d60", "5bdb19b85e69", "068518a1c39a", "1894c2f27b30", "b4038c3fa0a9"),
    "45": ("9aa091f5dbf3", "646d98c3808b", "ba8b677de5ad", "58d021bbf462", "60e7bdde16ee"),
    "46": ("c6b9ae7765b4", "67af34b0151b", "3473510fd13f", "c6ff97c3db57", "7be827567cdb"),
}
HORIZONS = (10, 50, 100, 200, 1000)

configurations = st.fixed_dictionaries(
    {
        "verbs": st.sampled_from(["union", "main", "appendix"]),
        "drift": st.sampled_from(["none", "B", "C"]),
        "noise": st.sampled_from([0, 5]),
        "horizon": st.just(60),
    }
)


@pytest.mark.parametrize("seed", SCRIPTS)
def test_scripts_are_the_same_everywhere(seed: str) -> None:
    assert (
        tuple(script_digest(RepositoryEnvironment(horizon=horizon), seed)[:12] for horizon in HORIZONS)
        == SCRIPTS[seed]
    )


def assert_whole(repository: Repository) -> None:
    """Commits have no cycle and lead to the root; every open pull request has its branch."""
    for commit in repository.commits:
        seen = set()
        while commit and commit in repository.commits:
            assert commit not in seen, "a cycle of commits"
            seen.add(commit)
            commit = repository.commits[commit].parent
        assert ROOT in seen
    for head in repository.branches.values():
        assert head in repository.commits
    for pull in repository.prs.values():
        if pull.state == "open":
            assert repository.branches[pull.branch] in repository.commits


def guess(play: Play, choice: int) -> str:
    """Some action that may be possible: right ones, merges of anything, tests, picks, nonsense."""
    repository = play.world.repository
    right = play._right or WAIT
    numbers, branches, commits = list(repository.prs), list(repository.branches), list(repository.commits)
    options = [
        str(right),
        str(right),
        f"Merge {numbers[choice % len(numbers)]}" if numbers else "Wait",
        f"RunTests {branches[choice % len(branches)]}",
        f"FixCI {branches[choice % len(branches)]}",
        f"CreatePR {branches[choice % len(branches)]}",
        f"CherryPick {commits[choice % len(commits)]} line_{choice % 30}",
        "Rollback v_3",
        "nonsense",
    ]
    return options[choice % len(options)]


@settings(max_examples=25, deadline=None)
@given(configurations, st.integers(0, 10**6), st.lists(st.integers(0, 10**4), min_size=60, max_size=60))
def test_invariants_under_any_actions(knobs: dict[str, Any], seed: int, choices: list[int]) -> None:
    parameters = Parameters(**knobs)
    play = Play(parameters, seed)
    before = play.script.digest()
    play.open()
    actions = []
    for t, choice in enumerate(choices):
        actions.append(guess(play, choice))
        parsed = parse_action(actions[-1])
        if not isinstance(parsed, str):
            trial = deepcopy(play.world)
            accepted, _ = trial.apply(parsed, t)
            assert accepted or trial.digest() == play.world.digest(), "a refused action changed something"
        play.step(actions[-1])
        if t % 6 == 0:
            assert_whole(play.world.repository)
    assert write_script(parameters, seed).digest() == before
    assert (
        list(true_states(RepositoryEnvironment(**knobs), Trial(str(seed)), actions))[-1]
        == play.world.repository.state()
    )


@pytest.mark.parametrize("verbs", ["union", "main", "appendix"])
def test_a_right_course_never_merges_on_stale_or_failing_tests(verbs: Verbs) -> None:
    for seed in range(42, 52):
        play = Play(Parameters(horizon=200, verbs=verbs), seed)
        play.open()
        merges = 0
        for _ in range(200):
            right = play._right
            assert right is not None
            if right.verb == "Merge":
                merges += 1
                pull = play.world.repository.prs[right.name]
                assert pull.approved
                assert play.world.repository.is_fresh(pull.branch)
            play.step(str(right))
        assert_whole(play.world.repository)
        assert merges == play.script.merges
        assert play.grade().reward == 1.0


def test_most_events_need_a_remembered_fact() -> None:
    events = [e for seed in range(42, 62) for e in write_script(Parameters(), seed).events]
    assert sum(event.remembers for event in events) / len(events) >= 0.35


def test_every_kind_of_event_occurs() -> None:
    union = {event.kind for event in write_script(Parameters(horizon=500), 42).events}
    main = {event.kind for event in write_script(Parameters(horizon=500, verbs="main"), 42).events}
    assert union == set(Kind) - {Kind.ALERT, Kind.PUSHED, Kind.OPENED, Kind.FIXED}
    assert main == set(Kind) - {Kind.ALERT, Kind.ISSUE, Kind.READY}


def test_a_merge_makes_other_results_stale_without_saying_so() -> None:
    repository = Repository({"main": ROOT})
    for number in ("1", "2"):
        repository.add_commit(f"topic_{number}", f"c_{number}", begins_at=ROOT)
        repository.prs[f"pr_{number}"] = Pull(f"topic_{number}")
        repository.tested(f"topic_{number}", True)
    assert repository.is_fresh("topic_1")
    assert repository.is_fresh("topic_2")
    repository.merge("pr_1", "c_3")
    assert not repository.is_fresh("topic_2")
    repository.tested("topic_2", True)
    repository.add_commit("topic_2", "c_4")
    assert not repository.is_fresh("topic_2")


def test_breaking_main_costs_the_feature_score() -> None:
    broke = 0
    for seed in range(42, 62):
        play = Play(Parameters(), seed)
        play.open()
        for _ in range(100):
            numbers = [
                n for n, pull in play.world.repository.prs.items() if pull.state == "open" and pull.approved
            ]
            play.step(f"Merge {numbers[0]}" if numbers else str(play._right or "Wait"))
        verdict = play.grade()
        breaking = verdict.detail["breaking_merges"]
        assert isinstance(breaking, int)
        broke += breaking
        if breaking and play.script.merges:
            assert verdict.detail["feature_score"] != 1.0
    assert broke > 0
