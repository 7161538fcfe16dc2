"""Named procedures distilled from solved tasks.

Voyager (Wang et al. 2023) keeps them as code, Agent Workflow Memory (Wang et al. 2024) as words, like this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from perdure.callbacks.bm25 import Bm25Index
from perdure.core.callback import Callback, CallbackContext
from perdure.core.errors import ModelError
from perdure.core.history import render_history
from perdure.core.pool import ModelHandle
from perdure.core.types import JSON, EvaluationOutcome, Message, Request, SessionStatus

QUESTION = """\
{instructions}

This task was solved:

{history}

Write down how, as a procedure that would solve other tasks of the same kind, in exactly this form:
Name: a short name of the procedure
When: the kind of task it is for, in one line
Steps: what to do, in a few lines, without the particulars of this task
A procedure whose name exists is replaced. Existing names: {names}"""

HEADING = "Procedures that solved earlier tasks:"

_FORM = re.compile(
    r"^[ \t]*Name:(?P<name>[^\n]*)\n+[ \t]*When:(?P<when>[^\n]*)\n+[ \t]*Steps:(?P<steps>.*)", re.M | re.S
)


@dataclass(frozen=True)
class Procedure:
    """One skill, in words."""

    name: str
    when: str
    steps: str

    def __str__(self) -> str:
        return f"{self.name} ({self.when}):\n{self.steps}"


def read_procedure(reply: str, max_chars: int) -> Procedure | None:
    """The procedure of a reply, cut to `max_chars`; None where the form is not kept."""
    found = _FORM.search(reply)
    if found is None:
        return None
    name, when, steps = (found[key].strip() for key in ("name", "when", "steps"))
    return Procedure(name[:80], when[:200], steps[:max_chars]) if name and steps else None


class SkillLibrary(Callback):
    """After each solved task `model` distils a named procedure; the `k` nearest to a goal are shown.

    Nearness is BM25 over names and kinds of task. A name that exists is replaced; beyond `max_skills` the one
    longest neither shown nor written is forgotten. A reply without the asked form adds nothing. The delta
    holds the new procedure and the names shown; a snapshot holds the bounded library.
    """

    name = "skill_library"

    def __init__(
        self, *, model: ModelHandle, k: int = 3, max_skills: int = 100, max_chars: int = 1000
    ) -> None:
        if k < 0 or max_skills < 1 or max_chars < 1:
            raise ValueError("k must not be negative; max_skills and max_chars must be at least 1")
        self._model = model
        self._k = k
        self._max_skills = max_skills
        self._max_chars = max_chars
        self._library: dict[str, Procedure] = {}
        self._shown: list[str] = []
        self._new: Procedure | None = None

    def restore_state(self, state: JSON, deltas: Iterable[JSON]) -> None:
        """The library, least recently used first."""
        self._library = {fields["name"]: Procedure(**fields) for fields in state or []}
        for delta in deltas:
            self._apply(delta or {})

    def on_environment_reset(self, ctx: CallbackContext) -> None:
        """Show what is near to the goal."""
        self._shown, self._new = [], None
        if ctx.session.status is not SessionStatus.RUNNING:
            return
        skills = list(self._library.values())
        scores = Bm25Index(f"{skill.name} {skill.when}" for skill in skills).scores(ctx.session.goal)
        nearest = sorted(scores, key=lambda i: (-scores[i], -i))[: self._k]
        if nearest:
            self._shown = [skills[i].name for i in reversed(nearest)]
            texts = [str(skills[i]) for i in reversed(nearest)]
            ctx.session.experience.append("\n\n".join([HEADING, *texts]))

    def on_environment_complete(self, ctx: CallbackContext) -> None:
        """Distil a solved task."""
        if ctx.session.evaluation.outcome is not EvaluationOutcome.CORRECT:
            return
        text = QUESTION.format(
            instructions=ctx.environment.instructions,
            history=render_history(ctx.session.history),
            names=", ".join(self._library) or "none",
        )
        outcome = self._model.generate([Request((Message("user", text),))])[0]
        if not isinstance(outcome, ModelError):
            self._new = read_procedure(outcome.text, self._max_chars)

    def on_state_save(self, ctx: CallbackContext) -> JSON:
        """The new procedure, and the names that were shown."""
        delta: dict[str, JSON] = {"shown": self._shown} if self._shown else {}
        if self._new is not None:
            delta["skill"] = asdict(self._new)
        self._apply(delta)
        self._shown, self._new = [], None
        return delta or None

    def snapshot_state(self) -> JSON:
        """The library, least recently used first."""
        return [asdict(skill) for skill in self._library.values()]

    def _apply(self, delta: Mapping[str, JSON]) -> None:
        for name in delta.get("shown", []):
            if name in self._library:  # another session of its block may have driven it out
                self._library[name] = self._library.pop(name)
        if "skill" in delta:
            skill = Procedure(**delta["skill"])
            self._library.pop(skill.name, None)
            self._library[skill.name] = skill
            while len(self._library) > self._max_skills:
                del self._library[next(iter(self._library))]


CALLBACK = SkillLibrary
