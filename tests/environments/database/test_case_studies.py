"""The database case studies of LifelongAgentBench (appendix), with the statements that it quotes.

Each world is a small table of the test's own, of the columns that the case names; where the published task is
at hand, the same replies are played on it too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from perdure.core.types import EvaluationOutcome, SessionStatus, Trial
from perdure.environments.database import DatabaseEnvironment
from perdure.environments.database.engine import Column, Table
from perdure.environments.database.prompts import NO_SQL_BLOCK, SEVERAL_STATEMENTS
from perdure.environments.database.sqlite.engine import SqliteEngine

LIMIT_SLIP = (
    "SELECT policy_id, holder_name, policy_type FROM insurance_policies ORDER BY effective_date DESC "
    "LIMIT 4 OFFSET 5;"
)
LIMIT_RECOVERY = LIMIT_SLIP.replace("LIMIT 4", "LIMIT 10")
USAGE = (
    "SELECT region, SUM(data_usage) AS total_data_usage, AVG(call_duration) AS average_call_duration "
    "FROM customer_usage GROUP BY region HAVING SUM(data_usage) > 1000 AND AVG(call_duration) < 300 "
    "ORDER BY total_data_usage DESC "
)
RATES = (
    'SELECT AVG(hourly_rate) AS avg_rate FROM staff_shifts WHERE role = "Security";',
    'SELECT * FROM staff_shifts WHERE role = "Security" AND hours_worked > 30 AND hourly_rate < 20.5;',
    'UPDATE staff_shifts SET hourly_rate = hourly_rate * 1.15 WHERE role = "Security" AND hours_worked > 30 '
    "AND hourly_rate < 20.5;",
)
LIMIT_IN_SUBQUERY = (
    'DELETE FROM package_tracking WHERE (status = "lost" AND last_updated < "2023-01-01") OR package_id IN '
    "( SELECT package_id FROM package_tracking WHERE weight_kg < 5 LIMIT 100 );"
)
TWO_STATEMENTS = (
    "CREATE TEMPORARY TABLE temp AS SELECT package_id FROM package_tracking WHERE weight_kg < 5 LIMIT 100; "
    'DELETE FROM package_tracking WHERE (status = "lost" AND last_updated < "2023-01-01") OR package_id IN '
    "(SELECT package_id FROM temp);"
)
UNFENCED = (
    "INSERT INTO membership_payments (member_id, payment_date, amount, payment_method) "
    'VALUES (102, "2023-10-15", 75, "Credit Card");'
)


def operation(sql: str) -> str:
    return f"Action: Operation\n```sql\n{sql}\n```"


def answer(text: str) -> str:
    return f"Action: Answer\nFinal Answer: {text}"


def world(folder: Path, table: Table, sql: str, **options: Any) -> DatabaseEnvironment:
    """One task whose label comes from running its ground truth."""
    engine = SqliteEngine()
    engine.create(table)
    reply = engine.execute(sql)
    info: dict[str, Any] = {"sql": sql, "direct": None, "md5": engine.state_hash()}
    if not reply.is_mutation:
        rows = [[float(cell) if isinstance(cell, Decimal) else cell for cell in row] for row in reply.rows]
        info |= {"direct": rows, "md5": None}
    engine.close()
    columns = [{"name": column.name, "type": column.type} for column in table.columns]
    entry = {
        "instruction": "As the case study says.",
        "answer_info": info,
        "table_info": {"name": table.name, "column_info_list": columns, "row_list": table.rows},
        "skill_list": [],
    }
    path = folder / "tasks.json"
    path.write_text(json.dumps({"0": entry}))
    return DatabaseEnvironment(tasks=path, **options)


def columns(*names: str) -> tuple[Column, ...]:
    """Names that end in `#` are numbers."""
    return tuple(Column(name.rstrip("#"), "INT" if name.endswith("#") else "TEXT") for name in names)


POLICIES = Table(
    "insurance_policies",
    columns("policy_id#", "holder_name", "policy_type", "effective_date"),
    tuple((i, f"Holder {i}", "Auto" if i % 2 else "Life", f"2023-{i:02}-01") for i in range(1, 13))
    + tuple((i, f"Holder {i}", "Home", f"2024-{i - 12:02}-01") for i in range(13, 21)),
)
REGIONS: Sequence[tuple[str, int, int]] = [
    ("North", 1900, 200),
    ("South", 900, 100),
    *((f"Area {i}", 1800 - 100 * i, 250) for i in range(7)),
    ("West", 5000, 400),
]
CUSTOMER_USAGE = Table("customer_usage", columns("region", "data_usage#", "call_duration#"), tuple(REGIONS))
STAFF_SHIFTS = Table(
    "staff_shifts",
    columns("staff_id#", "role", "hours_worked#", "hourly_rate#"),
    (
        (1, "Security", 40, 18),
        (2, "Security", 35, 23),
        (3, "Security", 20, 19),
        (4, "Security", 45, 22),
        (5, "Cleaner", 40, 15),
    ),
)
PACKAGES = Table(
    "package_tracking",
    columns("package_id#", "status", "last_updated", "weight_kg#"),
    ((1, "lost", "2022-05-01", 9), (2, "lost", "2023-05-01", 9), (3, "in transit", "2023-05-01", 3)),
)
PACKAGES_SOLUTION = (
    "DELETE FROM package_tracking WHERE (status = 'lost' AND last_updated < '2023-01-01') OR package_id IN "
    "(SELECT package_id FROM (SELECT package_id FROM package_tracking WHERE weight_kg < 5) AS sub) LIMIT 100"
)
PAYMENTS = Table(
    "membership_payments",
    columns("payment_id#", "member_id#", "payment_date", "amount#", "payment_method"),
    ((1, 101, "2023-01-05", 50, "Cash"),),
)


def test_a_limit_slip_is_recovered_by_a_second_query(tmp_path: Path) -> None:
    environment = world(tmp_path, POLICIES, LIMIT_RECOVERY)
    environment.reset(Trial("0"))
    slip = environment.interact(operation(LIMIT_SLIP))
    assert slip.text.count("Holder") == 4
    recovered = environment.interact(operation(LIMIT_RECOVERY))
    assert recovered.text.count("Holder") == 10
    assert environment.interact(answer(recovered.text)).done
    assert environment.complete().outcome is EvaluationOutcome.CORRECT
    environment.reset(Trial("0"))
    environment.interact(answer(slip.text))
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def test_comma_limit_is_an_offset_and_a_count(tmp_path: Path) -> None:
    environment = world(tmp_path, CUSTOMER_USAGE, f"{USAGE}LIMIT 5 OFFSET 2")
    environment.reset(Trial("0"))
    comma = environment.interact(operation(f"{USAGE}LIMIT 2, 5;"))
    assert comma.text == environment.interact(operation(f"{USAGE}LIMIT 5 OFFSET 2;")).text
    shifted = environment.interact(operation(f"{USAGE}LIMIT 3, 5;"))
    assert shifted.text != comma.text
    environment.interact(answer(comma.text))
    assert environment.complete().outcome is EvaluationOutcome.CORRECT
    environment.reset(Trial("0"))
    environment.interact(answer(shifted.text))
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def test_a_change_that_was_never_committed_is_graded_by_the_table(tmp_path: Path) -> None:
    environment = world(tmp_path, STAFF_SHIFTS, RATES[2])
    environment.reset(Trial("0"))
    mean, eligible, update = (environment.interact(operation(sql)) for sql in RATES)
    assert mean.text == "[(20.5000,)]"
    assert eligible.text == "[(1, 'Security', 40, 18)]"
    assert update.text == "[]"
    assert not update.done
    evaluation = environment.complete()
    assert evaluation.detail["answered"] is False
    assert evaluation.outcome is EvaluationOutcome.CORRECT


def test_limit_in_a_subquery_then_two_statements_in_one_action(tmp_path: Path) -> None:
    environment = world(tmp_path, PACKAGES, PACKAGES_SOLUTION, on_invalid_action="end")
    environment.reset(Trial("0"))
    refused = environment.interact(operation(LIMIT_IN_SUBQUERY))
    assert refused.text.startswith("1235 (42000): This version of MySQL doesn't yet support 'LIMIT & IN")
    assert refused.status is SessionStatus.RUNNING
    two = environment.interact(operation(TWO_STATEMENTS))
    assert two.status is SessionStatus.AGENT_VALIDATION_FAILED
    assert two.reason == SEVERAL_STATEMENTS
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def test_two_statements_are_an_observation_by_default_and_run_under_compat(tmp_path: Path) -> None:
    environment = world(tmp_path, PACKAGES, PACKAGES_SOLUTION)
    environment.reset(Trial("0"))
    observation = environment.interact(operation(TWO_STATEMENTS))
    assert SEVERAL_STATEMENTS in observation.text
    for sql in TWO_STATEMENTS.split("; "):
        assert environment.interact(operation(sql)).text == "[]"
    assert environment.complete().outcome is EvaluationOutcome.CORRECT
    paper = world(tmp_path, PACKAGES, PACKAGES_SOLUTION, compat="paper")
    paper.reset(Trial("0"))
    assert paper.interact(operation(TWO_STATEMENTS)).text == "[]"
    assert paper.complete().outcome is EvaluationOutcome.CORRECT


def test_a_statement_without_its_fence_fails_validation(tmp_path: Path) -> None:
    environment = world(tmp_path, PAYMENTS, UNFENCED, on_invalid_action="end")
    environment.reset(Trial("0"))
    observation = environment.interact(f"Action: Operation\n{UNFENCED}")
    assert observation.status is SessionStatus.AGENT_VALIDATION_FAILED
    assert observation.reason == NO_SQL_BLOCK
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


PUBLISHED = [
    ("insurance_policies", [operation(LIMIT_SLIP), operation(LIMIT_RECOVERY)], EvaluationOutcome.CORRECT),
    ("insurance_policies", [operation(LIMIT_SLIP)], EvaluationOutcome.INCORRECT),
    (
        "customer_usage",
        [operation(f"{USAGE}LIMIT 2, 5;"), operation(f"{USAGE}LIMIT 3, 5;")],
        EvaluationOutcome.INCORRECT,
    ),
    (
        "package_tracking",
        [operation(LIMIT_IN_SUBQUERY), operation(TWO_STATEMENTS)],
        EvaluationOutcome.INCORRECT,
    ),
    ("membership_payments", [f"Action: Operation\n{UNFENCED}"], EvaluationOutcome.INCORRECT),
    ("membership_payments", [operation(UNFENCED)], EvaluationOutcome.CORRECT),
]


def test_the_published_tasks_of_the_cases(lab_file: Path) -> None:
    published = json.loads(lab_file.read_text())
    environment = DatabaseEnvironment(tasks=lab_file)
    outcomes = []
    for table, replies, _ in PUBLISHED:
        task = next(key for key, entry in published.items() if entry["table_info"]["name"] == table)
        environment.reset(Trial(task))
        seen = ""
        for reply in replies:
            seen = environment.interact(reply).text
        environment.interact(answer(seen))
        outcomes.append((table, replies, environment.complete().outcome))
    assert outcomes == PUBLISHED
