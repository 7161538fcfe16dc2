from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.callbacks.group_self_consistency import HALVE_AFTER, GroupSelfConsistency
from perdure.callbacks.voting import break_tie_as_original, cast
from perdure.core.agent import Absorbed, Agent, ContextView, ModelAgent
from perdure.core.environment import Opening
from perdure.core.errors import ConfigError, ModelError
from perdure.core.model import Outcome
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON, Completion, Message, Observation, Reply, Request, SessionStatus
from perdure.core.usage import TokenCount
from perdure.models.scripted import ScriptedModel
from tests.core.playing import DONE, play, pool_of, step_to_goal

SOLVED = "A task that was solved before:"


def gsc(**parameters: Any) -> GroupSelfConsistency:
    return GroupSelfConsistency(**parameters)


def groups_of(request: Request) -> int:
    """How many solved tasks a prompt shows."""
    return request.messages[0].text.count(SOLVED)


def test_the_newest_successes_are_shared_out_in_groups(tmp_path: Path) -> None:
    past = play(tmp_path, callbacks=[gsc(groups=2, group_size=2)], tasks=6)
    first_turn = [groups_of(Request(call.messages)) for call in past.calls(5)][:3]
    assert first_turn == [0, 2, 2]
    shown = [call.messages[0].text for call in past.calls(5)][1:3]
    for text, numbers in zip(shown, ([1, 2], [3, 4]), strict=True):
        assert [i for i in range(5) if past[i].history[0].text in text] == numbers


def test_all_successes_take_part_without_a_number_of_groups(tmp_path: Path) -> None:
    past = play(tmp_path, callbacks=[gsc(groups=0, group_size=2)], tasks=6)
    assert [groups_of(Request(call.messages)) for call in past.calls(5)][:4] == [0, 2, 2, 1]


class Noting:
    """A strategy that keeps a state: the replies it took up."""

    schema: Mapping[str, JSON] | None = None

    def __init__(self) -> None:
        self.taken: list[str] = []

    def start(self, opening: Opening, instructions: str) -> None:
        self.taken = []

    def render(self, view: ContextView) -> Sequence[Message]:
        return [Message("system", view.instructions_block), *view.history]

    def read(self, reply: Reply) -> str | None:
        return reply.text

    def absorb(self, reply: Reply) -> Absorbed:
        self.taken.append(reply.text)
        return Absorbed(action=reply.text)

    def observe(self, observation: Observation) -> None:
        pass

    def trace(self) -> JSON:
        return list(self.taken)


def noting_agent(model: ModelHandle) -> Agent:
    return ModelAgent(model, Noting())


def voted(
    folder: Path, replies: Sequence[str], choice: str = "?", **parameters: str
) -> tuple[str, dict[str, JSON]]:
    """The action of the last task's first turn when the agent and the groups say `replies`, and the log."""
    voters = list(replies)

    def reply(request: Request) -> str:
        last = request.messages[-1].text
        if "These next actions were proposed" in last:
            return choice
        if not voting:
            return step_to_goal(request)
        return voters.pop(0) if voters else DONE

    voting: list[int] = []
    made = GroupSelfConsistency(
        groups=len(replies) - 1,
        group_size=1,
        **parameters,  # type: ignore[arg-type]
    )
    before = len(replies) - 1
    play(folder, reply, [made], tasks=before, agent=noting_agent)
    voting.append(1)
    past = play(folder, reply, [made], tasks=before + 1, agent=noting_agent)
    session = past[before]
    assert session.trace[0] == session.history[1].text == session.interactions[0].action
    log: dict[str, JSON] = past.line(before)["callbacks"]["group_self_consistency"]
    return session.interactions[0].action, log


def test_the_winning_reply_moves_the_strategys_state(tmp_path: Path) -> None:
    action, log = voted(tmp_path, ["Action: add 1", "Hm.\nAction: add +3", "No.\nAction: add 3"])
    assert action == "Hm.\nAction: add +3"
    assert log["votes"][0] == {"turn": 1, "votes": {"add 1": 1, "add 3": 2}, "winner": "add 3"}


def test_replies_without_a_valid_action_do_not_vote(tmp_path: Path) -> None:
    action, log = voted(tmp_path, ["Hm.", "Hm.", "Action: add 2"])
    assert action == "Action: add 2"
    assert log["votes"][0]["votes"] == {"add 2": 1}


def test_without_any_valid_action_the_reply_stays(tmp_path: Path) -> None:
    action, log = voted(tmp_path, ["Hm.", "Hm!", "Hm?"])
    assert action == "Hm."
    assert log["votes"][0] == {"turn": 1, "votes": {}, "winner": None}


@pytest.mark.parametrize(
    ("choice", "winner"),
    [("2", "add 2"), (" 3. ", "add 3"), ("neither", "add 1"), ("9", "add 1"), ("²", "add 1")],
)
def test_a_tie_is_put_to_the_model_and_else_the_agents_own_action_stays(
    tmp_path: Path, choice: str, winner: str
) -> None:
    action, _ = voted(tmp_path, ["Action: add 1", "Action: add 2", "Action: add 3"], choice)
    assert action == f"Action: {winner}"


def test_the_original_drops_its_own_action_and_takes_the_first_of_the_others(tmp_path: Path) -> None:
    replies = ["Action: add 1", "Action: add 2", "Action: add 3"]
    action, _ = voted(tmp_path, replies, "3", compat="paper")
    assert action == "Action: add 2"


VOTES = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=9)


@given(VOTES)
def test_the_leaders_are_the_most_frequent_and_have_a_reply(votes: list[str | None]) -> None:
    ballot = cast(
        [None if v is None else Completion(f"reply {v} {i}") for i, v in enumerate(votes)],
        lambda reply: reply.text.split()[1],
    )
    valid = [v for v in votes if v is not None]
    assert set(ballot.leaders) == {v for v in valid if valid.count(v) == max(map(valid.count, valid))}
    for leader in ballot.leaders:
        assert ballot.reply_for(leader) == Completion(f"reply {leader} {votes.index(leader)}")
    if len(ballot.leaders) > 1:
        others = [leader for leader in ballot.leaders if leader != votes[0]]
        assert break_tie_as_original(ballot) == others[0]


class Cramped:
    """Fails a batch beyond its size with an out-of-memory, as a GPU would."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.batches: list[int] = []
        self._inner = ScriptedModel(step_to_goal)

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Outcome]]:
        if groups_of(requests[0]):
            self.batches.append(len(requests))
        if groups_of(requests[0]) and len(requests) > self.room:
            failed: Outcome = ModelError("out of memory", SessionStatus.AGENT_OUT_OF_MEMORY)
            return enumerate([failed] * len(requests))
        return self._inner.generate(requests)

    def count_tokens(self, messages: Sequence[Message]) -> TokenCount:
        return self._inner.count_tokens(messages)


def play_cramped(folder: Path, model: Cramped, callback: GroupSelfConsistency, tasks: int) -> list[JSON]:
    past = play(folder, callbacks=[callback], tasks=tasks, pool=pool_of(model))
    assert all(session.record.correct for session in past)
    return [past.line(i)["callbacks"]["group_self_consistency"] for i in range(tasks)]


def test_out_of_memory_halves_the_batch_and_starts_again(tmp_path: Path) -> None:
    model = Cramped(2)
    play_cramped(tmp_path, model, gsc(groups=4, group_size=1, batch=4), 5)
    whole = model.batches[model.batches.index(4) :]
    assert whole[:3] == [4, 2, 2]


def test_five_smaller_votes_in_a_row_halve_it_for_good(tmp_path: Path) -> None:
    model = Cramped(2)
    play_cramped(tmp_path, model, gsc(groups=4, group_size=1, batch=4), 12)
    assert model.batches.count(4) == HALVE_AFTER - model.batches.count(3)
    last = len(model.batches) - 1 - model.batches[::-1].index(4)
    assert set(model.batches[last + 3 :]) == {2}


def test_the_batch_size_survives_a_restart(tmp_path: Path) -> None:
    whole, parts = Cramped(2), Cramped(2)
    expected = play_cramped(tmp_path / "whole", whole, gsc(groups=4, group_size=1), 9)
    for tasks in range(1, 10):
        found = play_cramped(tmp_path / "parts", parts, gsc(groups=4, group_size=1), tasks)
    assert found == expected
    assert parts.batches == whole.batches


def test_what_is_too_large_alone_does_not_vote(tmp_path: Path) -> None:
    model = Cramped(0)
    deltas = play_cramped(tmp_path, model, gsc(groups=2, group_size=1, batch=2), 4)
    assert {len(vote["votes"]) for delta in deltas[1:] for vote in delta["votes"]} == {1}
    assert model.batches.count(2) == HALVE_AFTER
    assert set(model.batches[-5:]) == {1}


def test_an_agent_without_a_model_is_refused(tmp_path: Path) -> None:
    config = {
        "environment": {"name": "counter"},
        "agent": {"kind": "oracle"},
        "callbacks": [{"name": "group_self_consistency"}],
    }
    with pytest.raises(ConfigError, match=r'needs agent\.kind = "model"'):
        perdure.run(config, out=tmp_path)


@pytest.mark.parametrize("parameters", [{"groups": -1}, {"group_size": 0}, {"batch": 0}])
def test_numbers_that_make_no_sense_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least"):
        gsc(**parameters)


def test_voters_can_be_another_model(tmp_path: Path) -> None:
    other = pool_of(ScriptedModel(lambda request: "Action: add 7"))
    callback = GroupSelfConsistency(groups=2, group_size=1, model=other.caller("votes", "m"))
    past = play(tmp_path, callbacks=[callback], tasks=3)
    assert past[2].interactions[0].action == "Action: add 7"
