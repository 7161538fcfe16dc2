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
from perdure.environments.repository.candidates import MOST_TOPICS, SUPPORTED
from perdure.environments.repository.events import Kind
from perdure.environments.repository.parameters import Parameters, Verbs
from perdure.environments.repository.play import Play
from perdure.environments.repository.script import write_script
from perdure.environments.repository.store import MAIN, MOST_RELEASES, ROOT, Pull, Repository
from perdure.environments.skillexec.environment import true_states

SCRIPTS = {
    "42": ("b08e05b32788", "6f0ef807e766", "ee44cee9cc3f", "9c95dee1c430", "09594ac02027"),
    "43": ("e6fcb484c181", "09b9a2a30de8", "e28cb3b5ba66", "b2459e7e7db7", "1e97ffe1ad02"),
    "44": ("35966bf83d9c", "f2670f63c050", "f533228a85f3", "98bdb004ee9b", "f94b9f348d8a"),
    "45": ("3483e8b0fd11", "3185c891ef3d", "281ab3024ac0", "50bc9ce2523b", "233fe02b96ac"),
    "46": ("839e5a565ffe", "8895eaf90c06", "d53d66369b59", "fedf16549d33", "e96bf36719ce"),
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
    """Commits have no cycle; topic branches have their commits, and every open pull request its branch."""
    for commit in repository.commits:
        seen = set()
        while commit and commit in repository.commits:
            assert commit not in seen, "a cycle of commits"
            seen.add(commit)
            commit = repository.commits[commit].parent
    for branch, head in repository.branches.items():
        assert branch == MAIN or head in repository.commits
    assert repository.made_for == {c.issue: name for name, c in repository.commits.items() if c.issue}
    for pull in repository.prs.values():
        if pull.state == "open":
            assert repository.branches[pull.branch] in repository.commits


def guess(play: Play, choice: int) -> str:
    """Some action that may be possible: right ones, merges of anything, tests, picks, nonsense."""
    repository = play.world.repository
    right = play._right or WAIT
    numbers, branches = list(repository.prs), list(repository.branches)
    commits = list(repository.commits) or [ROOT]
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
    appendix = {event.kind for event in write_script(Parameters(horizon=500, verbs="appendix"), 42).events}
    assert union == set(Kind) - {Kind.ALERT, Kind.PUSHED, Kind.OPENED, Kind.FIXED}
    assert main == set(Kind) - {Kind.ALERT, Kind.ISSUE, Kind.READY}
    assert appendix == {Kind.ISSUE, Kind.READY, Kind.CI_REPORT, Kind.APPROVED, Kind.WINDOW, Kind.CHATTER}


@pytest.mark.parametrize("verbs", ["union", "main", "appendix"])
def test_what_lives_is_bounded(verbs: Verbs) -> None:
    for seed in range(42, 47):
        play = Play(Parameters(horizon=1000, verbs=verbs), seed)
        play.open()
        for _ in range(1000):
            play.step(str(play._right))
            alive = play.world.repository
            topics = len(alive.branches) - 1
            assert topics <= MOST_TOPICS
            assert len(alive.prs) <= topics
            assert len(alive.ci) <= topics + 1
            # A topic has the commit of its issue and at most one fix; merged issues keep their commits.
            assert len(alive.made_for) <= SUPPORTED + 1
            assert len(alive.commits) <= len(alive.made_for) + topics
            assert len(alive.releases) <= MOST_RELEASES
        assert_whole(alive)
        assert play.grade().reward == 1.0


def test_a_merge_and_a_retirement_take_along_what_nobody_needs() -> None:
    repository = Repository({MAIN: ROOT})
    repository.add_commit("topic_1", "c_1", file="file_1", issue="issue_1", begins_at=ROOT)
    assert repository.add_fix("topic_1", "c_2") == ""
    assert repository.add_fix("topic_1", "c_3") == "c_2"
    assert repository.commits["c_3"].parent == "c_1"
    assert repository.retire("issue_1") == "", "its branch still needs it"
    repository.prs["pr_1"] = Pull("topic_1")
    repository.tested("topic_1", True)
    assert repository.merge("pr_1", "c_4", keep_issue=True) == ["c_3"]
    assert repository.state() == {
        "branches": {"main": "c_4"},
        "commits": {"c_1": {"parent": ROOT, "file": "file_1", "issue": "issue_1"}},
        "prs": {},
        "ci": {},
        "releases": [],
    }
    assert repository.retire("issue_1") == "c_1"
    assert repository.retire("issue_1") == ""
    assert repository.state()["commits"] == {}
    for number in range(MOST_RELEASES + 2):
        repository.release(f"v_{number}", "c_4")
    assert [release.tag for release in repository.releases] == ["v_2", "v_3", "v_4", "v_5"]


def test_a_merge_makes_other_results_stale_without_saying_so() -> None:
    repository = Repository({"main": ROOT})
    for number in ("1", "2"):
        repository.add_commit(f"topic_{number}", f"c_{number}", begins_at=ROOT)
        repository.prs[f"pr_{number}"] = Pull(f"topic_{number}")
        repository.tested(f"topic_{number}", True)
    assert repository.is_fresh("topic_1")
    assert repository.is_fresh("topic_2")
    repository.merge("pr_1", "c_3", keep_issue=True)
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
