from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perdure.core.session import SessionRecord
from perdure.core.types import EvaluationOutcome, SessionStatus
from perdure.metrics.skills import skill_metrics

Outcome, S = EvaluationOutcome, SessionStatus


def record(
    task: str, outcome: EvaluationOutcome = Outcome.CORRECT, status: SessionStatus = S.COMPLETED
) -> SessionRecord:
    return SessionRecord(task, 0, status, outcome, float(outcome is Outcome.CORRECT))


def test_ignored_sessions_are_in_no_count() -> None:
    played = [record("a"), record("b", Outcome.INCORRECT)]
    ignored = [record("a", Outcome.IGNORED, S.TASK_ENVIRONMENT_ERROR)] * 3
    assert skill_metrics([*ignored, *played], SKILLS) == skill_metrics(played, SKILLS)


SKILLS = {"a": ("select", "insert"), "b": ("select",), "c": ("delete",)}


def test_counts_and_rates_by_skill_and_overall() -> None:
    metrics = skill_metrics(
        [
            record("a"),
            record("b", Outcome.INCORRECT, S.TASK_LIMIT_REACHED),
            record("b"),
            record("b", Outcome.UNKNOWN),
        ],
        SKILLS,
    )
    assert metrics == {
        "overall.basic.session_count": 4.0,
        "overall.cumulative_reward": 2.0,
        "overall.success_rate": 0.5,
        "overall.evaluation_outcome.correct": 0.5,
        "overall.evaluation_outcome.incorrect": 0.25,
        "overall.evaluation_outcome.unknown": 0.25,
        "overall.sample_status.completed": 0.75,
        "overall.sample_status.task_limit_reached": 0.25,
        "skill.delete.count": 0.0,
        "skill.delete.correct_count": 0.0,
        "skill.insert.count": 1.0,
        "skill.insert.correct_count": 1.0,
        "skill.insert.correct_rate": 1.0,
        "skill.select.count": 4.0,
        "skill.select.correct_count": 2.0,
        "skill.select.correct_rate": 0.5,
    }


def test_no_rate_over_nothing_unless_the_paper_is_followed() -> None:
    metrics = skill_metrics([], SKILLS)
    assert metrics["overall.basic.session_count"] == 0.0
    assert not any(word in name for name in metrics for word in ("rate", "outcome", "status"))
    as_paper = skill_metrics([], SKILLS, as_paper=True)
    assert {name: value for name, value in as_paper.items() if name.endswith("rate")} == {
        "overall.success_rate": -1.0,
        **{
            f"skill.{skill}.{rate}": -1.0
            for skill in ("select", "insert", "delete")
            for rate in ("correct_rate", "effective_correct_rate")
        },
    }


def test_the_paper_s_code_lists_what_did_not_occur_its_one_level_and_effective_skills() -> None:
    solved = record("a", Outcome.CORRECT, S.COMPLETED)
    found = skill_metrics(
        [solved, record("b", Outcome.INCORRECT, S.COMPLETED)], {"a": ["select"]}, as_paper=True
    )
    assert found["overall.evaluation_outcome.unknown"] == 0.0
    assert found["overall.sample_status.task_limit_reached"] == 0.0
    assert {name: value for name, value in found.items() if name.startswith("difficulty")} == {
        "difficulty_level.0.count": 2.0,
        "difficulty_level.0.correct_count": 1.0,
        "difficulty_level.0.correct_rate": 0.5,
    }
    for part in ("count", "correct_count", "correct_rate"):
        assert found[f"skill.select.effective_{part}"] == found[f"skill.select.{part}"] == 1.0


records = st.lists(
    st.builds(
        record,
        st.sampled_from([*SKILLS, "unlabelled"]),
        st.sampled_from([outcome for outcome in Outcome if outcome is not Outcome.UNSET]),
        st.sampled_from([status for status in S if status.is_terminal]),
    )
)


@given(records)
def test_fractions_add_up_and_skills_count_their_sessions(sessions: list[SessionRecord]) -> None:
    metrics = skill_metrics(iter(sessions), SKILLS)
    sessions = [session for session in sessions if not session.ignored]
    total = len(sessions)
    assert metrics["overall.basic.session_count"] == total
    for group in ("evaluation_outcome", "sample_status"):
        fractions = [value for name, value in metrics.items() if name.startswith(f"overall.{group}.")]
        assert all(0 < fraction <= 1 for fraction in fractions)
        assert abs(sum(fractions) - bool(total)) < 1e-9
    labels = [skill for session in sessions for skill in SKILLS.get(session.task_id, ())]
    for skill in ("select", "insert", "delete"):
        count, correct = metrics[f"skill.{skill}.count"], metrics[f"skill.{skill}.correct_count"]
        assert count == labels.count(skill)
        assert 0 <= correct <= count
        assert metrics.get(f"skill.{skill}.correct_rate") == (correct / count if count else None)
