"""What must be told of a run: its rules, replies of no use, interruptions, what damage took away."""

from __future__ import annotations

from collections.abc import Mapping

from perdure.core.types import JSON
from perdure.reports.replies import reply_notes


def record_notes(facts: Mapping[str, JSON]) -> list[str]:
    """One line for each thing that a reader of the numbers should know; none for a run without any."""
    notes = [f"rules: {facts['rules']}"] if facts["rules"] else []
    notes += reply_notes(facts)
    if facts["resumes"] or facts["restarts"]:
        again = f"tasks taken up again: {facts['resumes']}, started afresh: {facts['restarts']}"
        notes.append(f"{again}, of which diverged: {facts['divergences']}")
    if unanswered := facts["tokens"]["unanswered"]:
        notes.append(f"calls without an answer, perhaps paid: {unanswered}")
    if facts["unfinished"]:
        notes.append(f"tasks begun and not finished: {facts['unfinished']}; their calls are counted")
    if facts["unaccounted"]:
        notes.append(
            f"damaged: {facts['unaccounted']} sessions without a line in the ledger; tokens are missing"
        )
    if facts["damaged"]:
        notes.append(f"damaged: {facts['damaged']} lines of call logs; calls may be missing")
    if facts["damaged_end"]:
        notes.append("damaged: the last line of sessions.jsonl; its task is owed again")
    return notes
