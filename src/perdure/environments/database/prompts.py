"""What the agent is told: the rules of the world, its grammar, and the words of every refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

INSTRUCTIONS = """\
You work on one table of a MySQL database. Each task asks a question about the table or asks you to change it.
There are two actions.

Operation runs SQL: one statement of MySQL's dialect and nothing else. You are shown its result: rows as a
list of tuples, without column names; an empty list for a statement that changes data; or the server's error
message.

Answer finishes the task. For a question, give the rows of the result as you were shown them, with the columns
in the order that the question asks for, and the rows too where it asks for an order. For a change, the table
itself is checked after you finish, and the answer may be anything.

You have at most {max_interactions} actions, the final one included. {invalid}"""

REPLY_FORM = """\
Think first, then end your reply with exactly one action. An answer is a line `Action: Answer`, then a line
that starts with `Final Answer:` and goes on with the list of tuples. An operation is a line
`Action: Operation`, then one statement between a line ```sql and a line ```, for example:
Action: Operation
```sql
SELECT name FROM people WHERE age > 30;
```"""

INVALID_OBSERVED = "A reply without a valid action does nothing and uses one of them up."
INVALID_ENDS = "A reply without a valid action ends the task as failed."

NO_ACTION: Final = "no action"
NO_SQL_BLOCK: Final = "no SQL block"
NO_FINAL_ANSWER: Final = "no final answer"
SEVERAL_STATEMENTS: Final = "several statements"

REMEDIES: Mapping[str, str] = {
    NO_ACTION: "write a line `Action: Operation` and the statement between a line ```sql and a line ```, "
    "or a line `Action: Answer` and a line that starts with `Final Answer:`.",
    NO_SQL_BLOCK: "after `Action: Operation`, put the statement between a line ```sql and a line ```.",
    NO_FINAL_ANSWER: "after `Action: Answer`, write a line that starts with `Final Answer:`.",
    SEVERAL_STATEMENTS: "give one statement in an action. None of them was run.",
}
"""Kind of an invalid reply → what to do instead."""


def question(instruction: str, table: str, columns: Sequence[str]) -> str:
    """The goal of a task: its instruction, then the names of the table and of its columns."""
    return f"{instruction}\nThe table is called {table}; its columns are {', '.join(columns)}."


def refusal(kind: str) -> str:
    """The observation of an invalid reply."""
    return f"Invalid reply ({kind}): {REMEDIES[kind]}"
