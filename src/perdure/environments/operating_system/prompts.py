"""What the agent is told."""

from __future__ import annotations

_INSTRUCTIONS = """\
You administer a Linux machine. You are given one task and bring the machine into the state it asks for. You \
run scripts of commands, one in each turn, and at last say that the task is done{answer}.

- Scripts are run as root. {shell}
- A script may run for {timeout:g} seconds. Nobody can type: programs that ask questions get no input.
- Output of more than {max_chars} bytes is cut in its middle.
- There is no network.{allowed}
- {invalid}
- You have at most {max_interactions} actions. The state of the machine is graded when you finish, or \
after the last action."""

_ANSWER = ", or answer a task that asks a question"

_FORM = """\
Think about the next step, then end your reply with exactly one action. A line `Act: finish` says that the \
task is done.{answer} A line `Act: bash` runs the commands between a line ```bash and a line ``` below it; \
all such blocks of a reply are one script. For example:
Act: bash
```bash
ls -l /etc
```"""
_FORM_OF_ANSWER = (
    " A line `Act: answer(…)`, with the answer in the brackets, answers a task that asks a question."
)

_SHELLS = {
    "fresh": "Every script gets a new shell that starts in /: folder and variables do not last, files do.",
    "persistent": "All scripts run in one shell: folder and variables last.",
}
_INVALID = {
    "observe": "A reply without a valid action changes nothing and costs one of your actions.",
    "end": "A reply without a valid action ends the task.",
}

NO_OUTPUT = "The script ended without output."
OUTPUT = "Output:\n"


def instructions(
    *,
    shell: str,
    timeout: float,
    max_chars: int,
    allowed: frozenset[str] | None,
    invalid: str,
    max_interactions: int,
    takes_answers: bool,
) -> str:
    """The immutable instructions of one environment."""
    commands = (
        "" if allowed is None else f"\n- Only these commands may be used: {', '.join(sorted(allowed))}."
    )
    return _INSTRUCTIONS.format(
        answer=_ANSWER if takes_answers else "",
        shell=_SHELLS[shell],
        timeout=timeout,
        max_chars=max_chars,
        allowed=commands,
        invalid=_INVALID[invalid],
        max_interactions=max_interactions,
    )


def form_of_reply(*, takes_answers: bool) -> str:
    """How a reply writes an action."""
    return _FORM.format(answer=_FORM_OF_ANSWER if takes_answers else "")


def describe(output: str, exit_code: int | None, *, timeout: float, shows_exit_code: bool) -> str:
    """An observation: what was printed, then how the script ended where that says something."""
    text = OUTPUT + output.removesuffix("\n") if output.strip() else NO_OUTPUT
    if exit_code is None:
        return f"{text}\n[stopped: the script ran for {timeout:g} seconds, which is the limit]"
    if exit_code and shows_exit_code:
        return f"{text}\n[exit code {exit_code}]"
    return text


def refusal(problem: str) -> str:
    """The observation for a reply that is no action."""
    return f"Nothing was run: {problem}."
