"""The database case studies of LifelongAgentBench, through the whole harness with their quoted replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure import EvaluationOutcome, PastSession, SessionStatus


def operation(sql: str) -> str:
    return f"Let me work on the table.\nAction: Operation\n```sql\n{sql}\n```"


def answer(rows: object) -> str:
    return f"Action: Answer\nFinal Answer: {rows}"


def entry(
    name: str, columns: dict[str, str], rows: list[list[Any]], sql: str, answer_rows: Any
) -> dict[str, Any]:
    """A task in the published schema. A mutation has no direct answer: it is graded by contents."""
    return {
        "instruction": "Do what the case study says.",
        "answer_info": {
            "direct": answer_rows,
            "md5": None if answer_rows is not None else "0" * 32,
            "sql": sql,
        },
        "table_info": {
            "name": name,
            "column_info_list": [{"name": column, "type": kind} for column, kind in columns.items()],
            "row_list": rows,
        },
        "skill_list": ["select"],
    }


def play(folder: Path, task: dict[str, Any], replies: list[str], **environment: Any) -> PastSession:
    """One task through configuration, controller, call log and store; the session as read back from disk."""
    tasks = folder / "task.json"
    tasks.write_text(json.dumps({"0": task}))
    run = perdure.run(
        {
            "environment": {"name": "database", "tasks": str(tasks), **environment},
            "agent": {"retries": 0},
            "models": {"default": {"provider": "scripted", "replies": replies}},
        },
        out=folder / "run",
    )
    return run.sessions[0]


POLICIES = entry(
    "insurance_policies",
    {"policy_id": "INT", "holder_name": "TEXT", "policy_type": "TEXT", "effective_date": "TEXT"},
    [
        [i, f"Holder {i}", "auto" if i % 2 else "home", f"2023-{i // 28 + 1:02}-{i % 28 + 1:02}"]
        for i in range(1, 31)
    ],
    "SELECT policy_id, holder_name, policy_type FROM insurance_policies "
    "ORDER BY effective_date DESC LIMIT 10 OFFSET 5;",
    [[i, f"Holder {i}", "auto" if i % 2 else "home"] for i in range(25, 15, -1)],
)


def test_limit_slip_and_recovery(tmp_path: Path) -> None:
    slip = (
        "SELECT policy_id, holder_name, policy_type FROM insurance_policies "
        "ORDER BY effective_date DESC LIMIT 4 OFFSET 5;"
    )
    right = slip.replace("LIMIT 4", "LIMIT 10")
    rows = [tuple(row) for row in POLICIES["answer_info"]["direct"]]
    session = play(tmp_path, POLICIES, [operation(slip), operation(right), answer(rows)])
    assert session.interactions[0].observation.text.count("Holder") == 4
    assert session.interactions[1].observation.text.count("Holder") == 10
    assert session.record.status is SessionStatus.COMPLETED
    assert session.record.outcome is EvaluationOutcome.CORRECT


def test_answer_from_before_the_recovery_is_wrong(tmp_path: Path) -> None:
    rows = [tuple(row) for row in POLICIES["answer_info"]["direct"][:4]]
    session = play(tmp_path, POLICIES, [answer(rows)])
    assert session.record.status is SessionStatus.COMPLETED
    assert session.record.outcome is EvaluationOutcome.INCORRECT


USAGE_SQL = (
    "SELECT region, SUM(data_usage) AS total_data_usage, AVG(call_duration) AS average_call_duration "
    "FROM customer_usage GROUP BY region HAVING SUM(data_usage) > 1000 AND AVG(call_duration) < 300 "
    "ORDER BY total_data_usage DESC LIMIT {limit};"
)
USAGE = entry(
    "customer_usage",
    {"region": "TEXT", "data_usage": "INT", "call_duration": "INT"},
    [[f"R{i}", 2000 - 100 * i, 100 + i] for i in range(1, 10)],
    USAGE_SQL.format(limit="5 OFFSET 2"),
    [[f"R{i}", 2000 - 100 * i, 100.0 + i] for i in range(3, 8)],
)


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [("2, 5", EvaluationOutcome.CORRECT), ("3, 5", EvaluationOutcome.INCORRECT)],
)
def test_comma_limit_is_offset_then_count(tmp_path: Path, limit: str, outcome: EvaluationOutcome) -> None:
    """`LIMIT 2, 5` is what the task asked for; the agent's second guess shifted by one."""
    first = 3 if limit == "2, 5" else 4
    rows = [(f"R{i}", 2000 - 100 * i, 100 + i) for i in range(first, min(first + 5, 10))]
    session = play(tmp_path, USAGE, [operation(USAGE_SQL.format(limit=limit)), answer(rows)])
    shown = session.interactions[0].observation.text
    assert [f"R{i}" in shown for i in range(1, 10)] == [first <= i < first + 5 for i in range(1, 10)]
    assert session.record.outcome is outcome


SHIFTS = entry(
    "staff_shifts",
    {"staff_id": "INT", "role": "TEXT", "hours_worked": "INT", "hourly_rate": "INT"},
    [
        [1, "Security", 40, 18],
        [2, "Security", 20, 18],
        [3, "Security", 35, 23],
        [4, "Security", 45, 23],
        [5, "Nurse", 50, 10],
    ],
    "UPDATE staff_shifts SET hourly_rate = hourly_rate * 1.15 WHERE role = 'Security' "
    "AND hours_worked > 30 AND hourly_rate < (SELECT average FROM "
    "(SELECT AVG(hourly_rate) AS average FROM staff_shifts WHERE role = 'Security') AS rates);",
    None,
)


def test_round_limit_before_committing(tmp_path: Path) -> None:
    """The fourth statement is never played: the status says so. The table is right, and still graded."""
    chosen = 'WHERE role = "Security" AND hours_worked > 30 AND hourly_rate < 20.5;'
    average = 'SELECT AVG(hourly_rate) AS avg_rate FROM staff_shifts WHERE role = "Security";'
    session = play(
        tmp_path,
        SHIFTS,
        [
            operation(average),
            operation(f"SELECT * FROM staff_shifts {chosen}"),
            operation(f"UPDATE staff_shifts SET hourly_rate = hourly_rate * 1.15 {chosen}"),
            operation(average),
        ],
    )
    assert "20.5" in session.interactions[0].observation.text
    assert session.interactions[2].observation.text == "[]"
    assert len(session.interactions) == 3
    assert session.record.status is SessionStatus.TASK_LIMIT_REACHED
    assert session.record.finish_reason == "3 interactions used"
    assert session.record.outcome is EvaluationOutcome.CORRECT


PACKAGES = entry(
    "package_tracking",
    {"package_id": "INT", "status": "TEXT", "last_updated": "TEXT", "weight_kg": "INT"},
    [
        [1, "lost", "2022-05-01", 9],
        [2, "lost", "2023-05-01", 9],
        [3, "delivered", "2023-01-01", 2],
        [4, "delivered", "2023-01-01", 20],
    ],
    "DELETE FROM package_tracking WHERE (status = 'lost' AND last_updated < '2023-01-01') "
    "OR weight_kg < 5 LIMIT 100;",
    None,
)
LIMIT_IN_SUBQUERY = (
    'DELETE FROM package_tracking WHERE (status = "lost" AND last_updated < "2023-01-01") OR package_id IN '
    "( SELECT package_id FROM package_tracking WHERE weight_kg < 5 LIMIT 100 );"
)
TWO_STATEMENTS = (
    "CREATE TEMPORARY TABLE temp AS SELECT package_id FROM package_tracking WHERE weight_kg < 5 LIMIT 100; "
    'DELETE FROM package_tracking WHERE (status = "lost" AND last_updated < "2023-01-01") '
    "OR package_id IN (SELECT package_id FROM temp);"
)


def test_limit_in_subquery_then_two_statements(tmp_path: Path) -> None:
    session = play(
        tmp_path,
        PACKAGES,
        [operation(LIMIT_IN_SUBQUERY), operation(TWO_STATEMENTS)],
        on_invalid_action="end",
    )
    assert "1235" in session.interactions[0].observation.text
    assert not session.interactions[0].observation.accepted
    assert session.record.status is SessionStatus.AGENT_VALIDATION_FAILED
    assert "statement" in session.record.finish_reason
    assert session.record.outcome is EvaluationOutcome.INCORRECT


def test_two_statements_cost_a_round_by_default(tmp_path: Path) -> None:
    one = PACKAGES["answer_info"]["sql"]
    session = play(tmp_path, PACKAGES, [operation(TWO_STATEMENTS), operation(one), answer("done")])
    assert not session.interactions[0].observation.accepted
    assert session.record.status is SessionStatus.COMPLETED
    assert session.record.outcome is EvaluationOutcome.CORRECT


PAYMENTS = entry(
    "membership_payments",
    {
        "payment_id": "INT",
        "member_id": "INT",
        "payment_date": "TEXT",
        "amount": "INT",
        "payment_method": "TEXT",
    },
    [[1, 101, "2023-01-05", 50, "Cash"], [2, 102, "2023-02-10", 60, "Debit Card"]],
    "INSERT INTO membership_payments (member_id, payment_date, amount, payment_method) "
    "VALUES (102, '2023-10-15', 75, 'Credit Card');",
    None,
)
UNFENCED = (
    "Action: Operation\nINSERT INTO membership_payments (member_id, payment_date, amount, payment_method) "
    'VALUES (102, "2023-10-15", 75, "Credit Card");'
)


@pytest.mark.parametrize("how", [{"on_invalid_action": "end"}, {"compat": "paper"}], ids=str)
def test_missing_code_fence_ends_the_task(tmp_path: Path, how: dict[str, str]) -> None:
    session = play(tmp_path, PAYMENTS, [UNFENCED], **how)
    assert session.record.status is SessionStatus.AGENT_VALIDATION_FAILED
    assert session.record.outcome is EvaluationOutcome.INCORRECT


def test_missing_code_fence_is_told_by_default(tmp_path: Path) -> None:
    fenced = operation(UNFENCED.split("\n", 1)[1])
    session = play(tmp_path, PAYMENTS, [UNFENCED, fenced, answer("inserted")])
    assert "```sql" in session.interactions[0].observation.text
    assert session.record.outcome is EvaluationOutcome.CORRECT
