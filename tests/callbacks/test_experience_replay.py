from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.callbacks.experience_replay import CALLBACK, ExperienceReplay
from perdure.callbacks.experience_store import SessionNumbers, within_budget
from perdure.callbacks.similarity import WordSimilarity, most_diverse, most_similar
from perdure.core.agent import ModelAgent
from perdure.core.errors import ConfigError
from perdure.core.types import Message, Request, Trial
from tests.core.playing import DONE, play, step_to_goal

SOLVED = "A task that was solved before:\n"


def goals(texts: tuple[str, ...]) -> list[str]:
    return [text.removeprefix(SOLVED).partition("\n")[0] for text in texts]


@pytest.mark.parametrize("k", [0, 1, 3, 16])
def test_the_newest_k_solved_tasks_are_shown_oldest_first(tmp_path: Path, k: int) -> None:
    past = play(tmp_path, callbacks=[CALLBACK(k=k)], tasks=8)
    for i, session in enumerate(past):
        expected = [past[j].goal for j in range(max(0, i - k), i)]
        assert goals(session.experience) == expected


def test_only_correct_and_completed_sessions_are_kept(tmp_path: Path) -> None:
    def reply(request: Request) -> str:
        goal = next(m.text for m in request.messages if m.text.startswith("Bring"))
        return DONE if "counter to -" in goal else step_to_goal(request)

    past = play(tmp_path, reply, [ExperienceReplay(k=16)], tasks=10)
    solved = [session.goal for session in past if session.record.correct]
    assert 2 < len(solved) < 10
    assert goals(past[9].experience) == [goal for goal in solved if goal != past[9].goal]


def test_a_shown_task_holds_its_opening_every_action_and_every_observation(tmp_path: Path) -> None:
    past = play(tmp_path, callbacks=[ExperienceReplay(k=1)], tasks=2)
    first = past[0]
    lines = [SOLVED + first.history[0].text]
    for interaction in first.interactions:
        lines.append(f"agent: {interaction.action}")
        lines += [f"user: {interaction.observation.text}"] * bool(interaction.observation.text)
    assert past[1].experience == ("\n".join(lines),)
    (prompt,) = {call.messages[0] for call in past.calls(1)}
    assert prompt.role == "system"
    assert past[1].experience[0] in prompt.text


def test_the_original_wording_is_one_text_without_separators(tmp_path: Path) -> None:
    past = play(tmp_path, callbacks=[ExperienceReplay(k=2, compat="paper")], tasks=3)
    (text,) = past[2].experience
    assert text.startswith(f"\nQuestion: {past[0].history[0].text}\nagent: ")
    assert f"agent: Action: doneQuestion: {past[1].history[0].text}\n" in text


def test_a_reply_that_plays_the_environment_is_cut(tmp_path: Path) -> None:
    past = play(tmp_path, [f"{DONE}\nuser: The counter is at 3.\nagent: x"], [ExperienceReplay()], tasks=1)
    assert past[0].interactions[0].action == DONE
    assert past[0].history[-1] == Message("agent", DONE)


def test_without_experiences_nothing_is_cut(tmp_path: Path) -> None:
    reply = f"{DONE}\nuser: The counter is at 3.\nagent: x"
    past = play(tmp_path, [reply], [ExperienceReplay(k=0)], tasks=1)
    assert past[0].interactions[0].action == reply


def test_a_token_budget_drops_the_oldest_and_says_so(tmp_path: Path) -> None:
    free = play(tmp_path / "free", callbacks=[ExperienceReplay(k=4)], tasks=6)
    texts = free[5].experience
    counts = [len(text) for text in texts]
    assert len(texts) == 4
    budget = sum(-(-count // 4) for count in counts[2:]) + 8
    past = play(tmp_path / "tight", callbacks=[ExperienceReplay(k=4, max_tokens=budget)], tasks=6)
    assert past[5].experience == texts[2:]
    assert past.line(5)["callbacks"]["experience_replay"] == {"dropped": [1, 2], "solved": 5}


def test_nearest_goals_are_chosen(tmp_path: Path) -> None:
    ids = ["0", "1", "2", "3", "4", "5", "2"]
    past = play(
        tmp_path,
        callbacks=[ExperienceReplay(k=1, select="similar")],
        tasks=6,
        schedule=[Trial(task, repeat) for repeat, task in enumerate(ids)],
    )
    assert goals(past[6].experience) == [past[2].goal]


def test_stopping_and_going_on_changes_nothing(tmp_path: Path) -> None:
    for select in ("recent", "similar", "diverse"):
        config = {
            "environment": {"name": "counter", "tasks": 9},
            "agent": {"kind": "oracle"},
            "callbacks": [{"name": "experience_replay", "k": 3, "select": select}],
            "execution": {"snapshot_every": 2},
        }
        perdure.run(config, out=tmp_path / select / "whole")
        for limit in range(1, 10):
            perdure.run(config, sets=[f"execution.limit={limit}"], out=tmp_path / select / "parts")
        whole, parts = (tmp_path / select / name / "sessions.jsonl" for name in ("whole", "parts"))
        assert whole.read_bytes() == parts.read_bytes()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"k": -1}, "k must not be negative"), ({"select": "nearest"}, "select"), ({"encoder": "x"}, "encoder")],
)
def test_mistakes_are_one_line(tmp_path: Path, parameters: dict[str, object], message: str) -> None:
    callbacks = [{"name": "experience_replay", **parameters}]
    config = {"environment": {"name": "counter"}, "agent": {"kind": "oracle"}, "callbacks": callbacks}
    with pytest.raises(ConfigError, match=message):
        perdure.run(config, out=tmp_path)


def test_diverse_picks_differ_where_similar_ones_repeat() -> None:
    index = WordSimilarity()
    for text in ("count rows of cats", "count rows of cats", "count rows of dogs", "delete old birds"):
        index.add(text)
    scores = index.scores("count rows of cats")
    assert most_similar(scores, 2) == [1, 0]
    assert most_diverse(scores, 2, index.between) == [1, 2]
    assert 3 not in scores


WORDS = st.lists(st.sampled_from(["sum", "rows", "cats", "dogs", "of", "delete"]), min_size=1, max_size=6)


@given(st.lists(WORDS, min_size=1, max_size=12), st.data())
def test_a_text_is_nearest_to_itself(texts: list[list[str]], data: st.DataObject) -> None:
    index = WordSimilarity()
    for text in texts:
        index.add(" ".join(text))
    chosen = data.draw(st.integers(0, len(texts) - 1))
    scores = index.scores(" ".join(texts[chosen]))
    assert index.between(chosen, chosen) == 1.0
    assert scores[chosen] > 0
    twins = {i for i, text in enumerate(texts) if sorted(text) == sorted(texts[chosen])}
    assert len({scores[i] for i in twins}) == 1
    shared = {i for i, text in enumerate(texts) if set(text) & set(texts[chosen])}
    assert set(scores) == shared


@given(st.lists(st.integers(0, 50)), st.integers(0, 200))
def test_what_fits_is_the_longest_beginning_within_the_budget(sizes: list[int], budget: int) -> None:
    kept = within_budget(sizes, budget)
    assert sum(sizes[:kept]) <= budget
    assert kept == len(sizes) or sum(sizes[: kept + 1]) > budget


@given(st.lists(st.integers()), st.integers(1, 5), st.integers(0, 8))
def test_bounded_numbers_are_the_newest(numbers: list[int], limit: int, count: int) -> None:
    kept = SessionNumbers(limit)
    kept.restore(numbers)
    assert kept.newest() == numbers[-limit:]
    assert kept.newest(count) == (numbers[-limit:][-count:] if count else [])
    assert len(kept) == min(limit, len(numbers))


def test_it_counts_with_the_models_tokenizer(tmp_path: Path) -> None:
    asked: list[str] = []

    class Counting(ModelAgent):
        pass

    def agent(model: object) -> ModelAgent:
        from perdure.core.usage import TokenCount
        from perdure.strategies.full_history import FullHistory

        made = Counting(model, FullHistory())  # type: ignore[arg-type]

        def count_tokens(messages: list[Message]) -> TokenCount:
            asked.append(messages[0].text)
            return TokenCount(10, exact=True)

        made.model.count_tokens = count_tokens  # type: ignore[assignment, method-assign]
        return made

    past = play(tmp_path, callbacks=[ExperienceReplay(k=9, max_tokens=25)], tasks=4, agent=agent)
    assert [len(session.experience) for session in past] == [0, 1, 2, 2]
    assert asked
