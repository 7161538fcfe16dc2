"""Grades a task on the machine it was worked on."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from perdure.core.types import Evaluation, EvaluationOutcome
from perdure.environments.operating_system.answers import CHECKERS
from perdure.environments.operating_system.tasks import OsTask, Script
from perdure.sandboxes.sandbox import Sandbox

_MAX_OUTPUT = 1 << 20
_STOPPED = 124


def grade(task: OsTask, sandbox: Sandbox, answer: str | None, *, timeout: float) -> Evaluation:
    """Reward 1 for a right state or answer. A grading script that takes too long grades as wrong.

    Raises EnvironmentUnavailable when the machine is gone.
    """
    if task.match is not None:
        right = answer is not None and answer.strip() == task.match.strip()
    elif task.checks:
        right = answer is not None and _answer_passes(task, sandbox, answer, timeout)
    else:
        right = task.evaluation is not None and _run(task.evaluation, [], sandbox, timeout)[0] == 0
    outcome = EvaluationOutcome.CORRECT if right else EvaluationOutcome.INCORRECT
    return Evaluation(outcome, float(right))


def _answer_passes(task: OsTask, sandbox: Sandbox, answer: str, timeout: float) -> bool:
    """Each step gets the answer and the outputs of the steps before it as arguments."""
    arguments = [answer]
    for check in task.checks:
        if check is not None and check.checker:
            if not CHECKERS[check.checker](arguments[0], arguments[-1]):
                return False
            continue
        script = task.solution if check is None else check.script
        if script is None:
            return False
        code, output = _run(script, arguments, sandbox, timeout)
        if code != 0:
            return False
        arguments.append(output)
    return True


def command_line(script: Script, arguments: Sequence[str] = ()) -> str:
    """The bash command that runs a script of a task, with arguments where it gets any."""
    if script.language == "bash" and not arguments:
        return script.text
    words = ["python3", "-c"] if script.language == "python" else ["bash", "-c"]
    words += [script.text, *([] if script.language == "python" else ["script"]), *arguments]
    return shlex.join(word.replace("\0", "") for word in words)


def _run(script: Script, arguments: Sequence[str], sandbox: Sandbox, timeout: float) -> tuple[int, str]:
    """Exit code (124 for a timeout, as `timeout(1)` has it) and output."""
    result = sandbox.exec(command_line(script, arguments), timeout=timeout, max_output=_MAX_OUTPUT)
    code = _STOPPED if result.exit_code is None else result.exit_code
    return code, result.output.decode("utf-8", "replace")
