from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.core.agent import ContextView
from perdure.core.session import SessionRecord
from perdure.core.types import Evaluation, EvaluationOutcome, Observation, SessionStatus, Trial
from perdure.environments.database import WORLD, DatabaseEnvironment
from perdure.environments.database.oracle import oracle as oracle_of
from perdure.environments.database.prompts import SEVERAL_STATEMENTS

CONTRACT = {
    "name",
    "version",
    "instructions",
    "history_factory",
    "task_ids",
    "reset",
    "interact",
    "complete",
    "calculate_metric",
    "read_action",
    "release",
}
VIEW = ContextView("", "", (), ())
Compat = Literal["none", "paper"]


def entry(sql: str, answer: list[list[object]] | None = None, md5: str | None = None) -> dict[str, Any]:
    return {
        "instruction": "Do what the task says.",
        "answer_info": {"sql": sql, "direct": answer, "md5": md5},
        "table_info": {
            "name": "shelf",
            "column_info_list": [
                {"name": "id", "type": "INT"},
                {"name": "price", "type": "INT"},
                {"name": "label", "type": "TEXT"},
            ],
            "row_list": [[1, 4, "a"], [2, 9, "b"], [3, 4, "c"]],
        },
        "skill_list": ["select"] if answer is not None else ["update"],
    }


@pytest.fixture
def task_file(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.json"
    tasks = {
        "question": entry("SELECT id FROM shelf WHERE price = 4", [[1], [3]]),
        "mean": entry("SELECT price, AVG(id) FROM shelf GROUP BY price", [[4, 2.0], [9, 2.0]]),
        "change": entry("UPDATE shelf SET price = 5 WHERE price = 4", md5="d5e4271f8fda4ee7bb8dd2d85a5a4e2a"),
        "broken": entry("SELECT 1", [[1]])
        | {"table_info": {**entry("SELECT 1", [[1]])["table_info"], "row_list": [["x", 1, "a"]]}},
    }
    path.write_text(json.dumps(tasks))
    return path


def run(sql: str) -> str:
    return f"Action: Operation\n```sql\n{sql}\n```"


def answer(text: str) -> str:
    return f"Action: Answer\nFinal Answer: {text}"


def play(environment: DatabaseEnvironment, task: str, *actions: str) -> tuple[list[Observation], Evaluation]:
    environment.reset(Trial(task))
    return [environment.interact(action) for action in actions], environment.complete()


def test_exactly_the_members_of_the_contract_are_public() -> None:
    assert {name for name in dir(DatabaseEnvironment()) if not name.startswith("_")} == CONTRACT


def test_the_module_has_its_companions() -> None:
    assert WORLD.environment is DatabaseEnvironment
    assert WORLD.max_interactions == 3
    assert WORLD.normalise("any text") == "any text"


def test_an_opening_names_the_table_and_its_columns_but_no_rows(task_file: Path) -> None:
    environment = DatabaseEnvironment(tasks=task_file)
    opening = environment.reset(Trial("question"))
    assert "shelf" in opening.goal
    assert "id, price, label" in opening.goal
    assert [message.role for message in opening.history] == ["user"]
    assert opening.history[0].text == opening.goal


def test_a_question_is_graded_by_its_answer(task_file: Path) -> None:
    environment = DatabaseEnvironment(tasks=task_file)
    observations, evaluation = play(
        environment, "question", run("SELECT id FROM shelf WHERE price = 4"), answer("[(3,), (1,)]")
    )
    assert observations[0] == Observation("[(1,), (3,)]")
    assert observations[1].done
    assert evaluation.outcome is EvaluationOutcome.CORRECT
    assert evaluation.reward == 1.0
    assert evaluation.detail == {"answered": True, "operations": 1}
    assert play(environment, "question", answer("[(1,)]"))[1].outcome is EvaluationOutcome.INCORRECT
    assert play(environment, "question")[1].outcome is EvaluationOutcome.INCORRECT


def test_numbers_are_readable_and_python_text_under_compat(task_file: Path) -> None:
    query = run("SELECT price, AVG(id) FROM shelf GROUP BY price")
    readable = play(DatabaseEnvironment(tasks=task_file), "mean", query)[0][0]
    paper = play(DatabaseEnvironment(tasks=task_file, compat="paper"), "mean", query)[0][0]
    assert readable.text == "[(4, 2.0000), (9, 2.0000)]"
    assert paper.text == "[(4, Decimal('2.0000')), (9, Decimal('2.0000'))]"


def test_a_change_is_graded_by_contents_and_by_hash_under_compat(task_file: Path) -> None:
    action = run("UPDATE shelf SET price = price + 1 WHERE id <> 2")
    observations, evaluation = play(DatabaseEnvironment(tasks=task_file), "change", action)
    assert observations[0].text == "[]"
    assert evaluation.outcome is EvaluationOutcome.CORRECT
    assert evaluation.detail["contents_match"] is True
    assert evaluation.detail["hash_matches"] is False  # the file's hash is made up
    paper = play(DatabaseEnvironment(tasks=task_file, compat="paper"), "change", action)[1]
    assert paper.outcome is EvaluationOutcome.INCORRECT


@pytest.mark.parametrize(
    "sql",
    ["DROP TABLE shelf", "ALTER TABLE shelf DROP COLUMN price", "DELETE FROM shelf", "SELECT 1", "SELEC"],
)
@pytest.mark.parametrize("compat", ["none", "paper"])
def test_a_wrecked_table_is_a_wrong_answer(task_file: Path, sql: str, compat: Compat) -> None:
    environment = DatabaseEnvironment(tasks=task_file, compat=compat)
    assert play(environment, "change", run(sql))[1].outcome is EvaluationOutcome.INCORRECT
    assert play(environment, "question", run("SELECT id FROM shelf"))[0][0].text == "[(1,), (2,), (3,)]"


def test_an_invalid_reply_costs_a_round_and_says_why(task_file: Path) -> None:
    environment = DatabaseEnvironment(tasks=task_file)
    environment.reset(Trial("question"))
    observation = environment.interact("I would rather not.")
    assert not observation.accepted
    assert not observation.done
    assert observation.status is SessionStatus.RUNNING
    assert "no action" in observation.text
    environment.complete()


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("hm", "no action"),
        ("Action: Operation", "no SQL block"),
        ("Action: Answer", "no final answer"),
        (run("DELETE FROM shelf; SELECT 1"), "several statements"),
    ],
)
def test_an_invalid_reply_may_end_the_task(task_file: Path, reply: str, reason: str) -> None:
    environment = DatabaseEnvironment(tasks=task_file, on_invalid_action="end")
    environment.reset(Trial("change"))
    observation = environment.interact(reply)
    assert observation.status is SessionStatus.AGENT_VALIDATION_FAILED
    assert observation.done
    assert observation.reason == reason
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def test_several_statements_run_under_compat_only(task_file: Path) -> None:
    both = run("UPDATE shelf SET label = ';'; SELECT label FROM shelf LIMIT 1")
    paper = DatabaseEnvironment(tasks=task_file, compat="paper")
    assert play(paper, "question", both)[0][0].text == "[(';',)]"
    observation = play(DatabaseEnvironment(tasks=task_file), "question", both)[0][0]
    assert SEVERAL_STATEMENTS in observation.text
    failing = run("SELECT nope; UPDATE shelf SET label = 'x'")
    assert "1054" in play(paper, "question", failing)[0][0].text


def test_an_error_is_an_observation_in_mysqls_form(task_file: Path) -> None:
    observation = play(DatabaseEnvironment(tasks=task_file), "question", run("SELECT x FROM shelf"))[0][0]
    assert observation.text == "1054 (42S22): Unknown column 'x' in 'field list'"
    assert not observation.accepted
    assert not observation.done


def test_observations_are_bounded(task_file: Path) -> None:
    environment = DatabaseEnvironment(tasks=task_file, max_observation_chars=200)
    wide = play(environment, "question", run("SELECT REPEAT('x', 5000) FROM shelf"))[0][0].text
    assert len(wide) < 300
    assert "characters cut" in wide
    long_error = play(environment, "question", run(f"SELECT {'y' * 5000} FROM shelf"))[0][0].text
    assert len(long_error) < 300


def test_a_task_that_cannot_be_set_up_says_so(task_file: Path) -> None:
    environment = DatabaseEnvironment(tasks=task_file)
    opening = environment.reset(Trial("broken"))
    assert opening.observation.status is SessionStatus.TASK_ENVIRONMENT_ERROR
    assert "Incorrect integer value: 'x' for column 'id' at row 1" in opening.observation.reason
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT
    assert environment.reset(Trial("question")).observation.status is SessionStatus.RUNNING


def test_parameters_are_checked() -> None:
    for bad in (
        {"compat": "papers"},
        {"engine": "oracle"},
        {"on_invalid_action": "stop"},
        {"query_timeout": 0},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            DatabaseEnvironment(**bad)


def test_the_version_follows_the_data(task_file: Path) -> None:
    before = DatabaseEnvironment(tasks=task_file).version
    task_file.write_text(task_file.read_text() + "\n")
    assert DatabaseEnvironment(tasks=task_file).version != before
    assert before.startswith("2+")
    assert len(before) == len("2+") + 12


def test_the_world_is_released_and_used_again(task_file: Path) -> None:
    environment = DatabaseEnvironment(tasks=task_file)
    environment.reset(Trial("question"))
    environment.release()
    environment.release()
    assert play(environment, "question", answer("[(1,), (3,)]"))[1].reward == 1.0


def test_nothing_can_be_done_without_a_task() -> None:
    environment = DatabaseEnvironment()
    with pytest.raises(RuntimeError):
        environment.interact(WORLD.do_nothing)
    with pytest.raises(RuntimeError):
        environment.complete()
    with pytest.raises(KeyError):
        environment.reset(Trial("no such task"))


@pytest.mark.parametrize("compat", ["none", "paper"])
def test_the_oracle_solves_every_shipped_task_and_doing_nothing_none(compat: Compat) -> None:
    environment = DatabaseEnvironment(compat=compat)
    oracle = oracle_of(environment)
    for task in environment.task_ids():
        oracle.start(Trial(task), environment.reset(Trial(task)))
        while True:
            observation = environment.interact(str(oracle.infer(VIEW)))
            oracle.observe(observation)
            if observation.done:
                break
        assert environment.complete().reward == 1.0, task
        assert play(environment, task, WORLD.do_nothing)[1].reward == 0.0, task


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(st.text(max_size=40), st.text(max_size=40).map(run), st.text(max_size=20).map(answer)),
        max_size=4,
    )
)
def test_no_reply_breaks_the_world(replies: list[str]) -> None:
    environment = DatabaseEnvironment(query_timeout=1.0)
    task = environment.task_ids()[0]
    first = environment.reset(Trial(task))
    for reply in replies:
        assert isinstance(environment.interact(reply), Observation)
    assert environment.complete().reward in (0.0, 1.0)
    assert environment.reset(Trial(task)).goal == first.goal
    environment.release()


def test_metrics_by_skill_difficulty_and_overall(task_file: Path) -> None:
    environment = DatabaseEnvironment(tasks=task_file)

    def record(task: str, right: bool, status: SessionStatus = SessionStatus.COMPLETED) -> SessionRecord:
        outcome = EvaluationOutcome.CORRECT if right else EvaluationOutcome.INCORRECT
        return SessionRecord(task, 0, status, outcome, float(right))

    limit = SessionStatus.TASK_LIMIT_REACHED
    records = [
        record("question", True),
        record("mean", False, limit),
        record("change", True),
        record("change", True),
    ]
    metrics = environment.calculate_metric(iter(records))
    assert metrics["skill.select.count"] == 2
    assert metrics["skill.select.correct_count"] == 1
    assert metrics["skill.select.correct_rate"] == 0.5
    assert metrics["skill.update.correct_rate"] == 1.0
    assert metrics["overall.basic.session_count"] == 4
    assert metrics["overall.evaluation_outcome.correct"] == 0.75
    assert metrics["overall.sample_status.task_limit_reached"] == 0.25
    assert metrics["overall.cumulative_reward"] == 3.0
    assert "skill.update.correct_rate" not in environment.calculate_metric([])
    as_paper = DatabaseEnvironment(compat="paper", tasks=task_file)
    assert as_paper.calculate_metric([])["skill.update.correct_rate"] == -1.0
    published = as_paper.calculate_metric(iter(records))
    assert published["difficulty_level.0.count"] == 4
    assert published["difficulty_level.0.correct_rate"] == 0.75
    assert "difficulty_level.0.count" not in metrics


def test_a_column_that_the_hash_needs_is_the_environment_s_error_as_in_the_original(task_file: Path) -> None:
    drop = "Action: Operation\n```sql\nALTER TABLE shelf DROP COLUMN price\n```"
    for compat, fails in (("none", False), ("paper", True)):
        environment = DatabaseEnvironment(tasks=task_file, compat=compat)  # type: ignore[arg-type]
        last = play(environment, "change", drop, "Action: Answer\nFinal Answer: []")[0][-1]
        assert (last.done, last.status is SessionStatus.TASK_ENVIRONMENT_ERROR) == (True, fails)


def test_a_block_that_joining_makes_a_comment_is_run_by_the_original(task_file: Path) -> None:
    paper = DatabaseEnvironment(tasks=task_file, compat="paper")
    block = "Action: Operation\n```sql\n-- look\nSELECT 1\n```"
    assert [each.text for each in play(paper, "question", block)[0]] == ["[]"]
