"""The environment as a whole, on real sandboxes."""

from __future__ import annotations

import json
import os
import platform
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.lab_os_fidelity import play_all
from perdure.conformance.environments import check_environment
from perdure.core.errors import ConfigError, EnvironmentUnavailable
from perdure.core.session import SessionRecord
from perdure.core.types import EvaluationOutcome, SessionStatus, Trial
from perdure.environments.operating_system import WORLD, OperatingSystemEnvironment
from perdure.environments.operating_system.oracle import oracle as oracle_of
from perdure.environments.operating_system.tasks import load_tasks
from perdure.sandboxes.sandbox import Sandbox
from tests.environments.operating_system.test_os_tasks import (
    AGENTBENCH,
    PUBLISHED,
    needs_agentbench,
    needs_published,
    write,
)
from tests.sandboxes.availability import need_bubblewrap

RACY = {"282"}
"""Its ground truth lists `*.txt` while it creates `output.txt`: which comes first is a matter of luck."""
MISSES = {"46", "73", "135", "183", "205", "359"} | RACY

Make = Callable[..., OperatingSystemEnvironment]


def bash(script: str) -> str:
    return f"Act: bash\n```bash\n{script}\n```"


def entry(init: str = "", solution: str = "touch /done", evaluation: str = "test -e /done") -> dict[str, Any]:
    return {
        "instruction": "Create /done.",
        "initialization_command_item": {"command_name": "bash", "script": init},
        "evaluation_info": {
            "evaluation_command_item": {"command_name": "bash", "script": evaluation},
            "ground_truth_command_item": {"command_name": "bash", "script": solution},
        },
        "skill_list": ["touch"],
    }


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    need_bubblewrap()
    made: list[OperatingSystemEnvironment] = []

    def build(content: Any = None, **options: Any) -> OperatingSystemEnvironment:
        path = write(tmp_path / f"tasks{len(made)}.json", {"0": entry()} if content is None else content)
        made.append(OperatingSystemEnvironment(tasks=path, **options))
        return made[-1]

    yield build
    for environment in made:
        environment.release()


def test_it_passes_the_conformance_suite() -> None:
    need_bubblewrap()
    results = list(check_environment(WORLD, sample=3))
    assert [result for result in results if not result.passed] == []


def test_shipped_tasks_are_solved_by_their_ground_truth_and_by_nothing_else() -> None:
    need_bubblewrap()
    played = play_all(list(load_tasks().tasks.values()), "bubblewrap")
    assert [one for one in played if not one.as_it_should or one.set_up] == []
    assert len(played) == 100


@needs_published
@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.full)], ids=["sample", "all"])
def test_published_tasks_are_solved_by_their_ground_truth_and_by_nothing_else(step: int) -> None:
    need_bubblewrap()
    tasks = list(load_tasks(PUBLISHED).tasks.values())[::step]
    wrong = [one for one in play_all(tasks, "bubblewrap") if not one.as_it_should]
    assert [one for one in wrong if not one.with_solution] == []
    assert {one.task for one in wrong} <= MISSES


def test_a_task_from_opening_to_verdict(make: Make) -> None:
    environment = make()
    opening = environment.reset(Trial("0"))
    assert opening.goal == opening.history[-1].text == "Create /done."
    seen = environment.interact(bash("echo hello; echo trouble >&2; (exit 4)"))
    assert seen.text == "Output:\nhello\ntrouble\n[exit code 4]"
    assert seen.accepted
    assert environment.interact(bash("touch /done")).text == "The script ended without output."
    assert environment.interact("Act: finish").done
    evaluation = environment.complete()
    assert (evaluation.outcome, evaluation.reward) == (EvaluationOutcome.CORRECT, 1.0)
    environment.reset(Trial("0"))
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def test_every_block_of_a_reply_is_run(make: Make) -> None:
    environment = make()
    environment.reset(Trial("0"))
    reply = "Act: bash\n```bash\nx=1\n```\nthen\n```bash\necho x is $x\n```"
    assert environment.interact(reply).text == "Output:\nx is 1"


@pytest.mark.parametrize(("shell", "where"), [("fresh", "/"), ("persistent", "/etc")])
def test_the_shell_is_fresh_or_lasts(make: Make, shell: str, where: str) -> None:
    environment = make(shell=shell)
    environment.reset(Trial("0"))
    environment.interact(bash("cd /etc"))
    assert environment.interact(bash("pwd")).text == f"Output:\n{where}"


def test_an_action_that_takes_too_long_is_stopped(make: Make) -> None:
    environment = make(action_timeout=0.5)
    environment.reset(Trial("0"))
    seen = environment.interact(bash("echo begun; sleep 60; touch /done"))
    assert seen.text == "Output:\nbegun\n[stopped: the script ran for 0.5 seconds, which is the limit]"
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def test_the_papers_tee_case_stays_bounded(make: Make) -> None:
    """Appendix, case study of `tee`: one command printed four million characters into the context."""
    log = "/var/log/tee_test.log"
    environment = make(
        {
            "0": entry(
                evaluation=f"test $(stat -c %a:%U:%G {log}) = 644:root:adm && tail -n 1 {log} | grep -qx Done"
            )
        }
    )
    environment.reset(Trial("0"))
    script = (
        f"tee -a {log} <<< 'Line 1'\nfor i in $(seq 60); do find / -print 2> /dev/null | head -c 80000; done"
        f" | tee -a {log}\n"
        f"hostname | tee -a {log}\ngrep root /etc/passwd | tee -a {log}\ntee -a {log} <<< 'Done'\n"
        f"chmod 644 {log}\nchown root:adm {log}\nstat -c 'size %s' {log}"
    )
    seen = environment.interact(bash(script))
    assert len(seen.text) <= 8_100
    assert "Line 1" in seen.text
    assert "Done" in seen.text
    assert "bytes of output left out" in seen.text
    assert int(seen.text.rpartition("size ")[2]) > 4_000_000
    assert environment.complete().outcome is EvaluationOutcome.CORRECT


@pytest.mark.parametrize(
    ("options", "status", "done"),
    [
        ({}, SessionStatus.RUNNING, False),
        ({"compat": "paper"}, SessionStatus.AGENT_VALIDATION_FAILED, True),
        ({"on_invalid_action": "end"}, SessionStatus.AGENT_VALIDATION_FAILED, True),
        ({"compat": "paper", "on_invalid_action": "observe"}, SessionStatus.RUNNING, False),
    ],
)
def test_an_invalid_reply(make: Make, options: dict[str, Any], status: SessionStatus, done: bool) -> None:
    environment = make(**options)
    environment.reset(Trial("0"))
    seen = environment.interact("I would run ls.")
    assert (seen.status, seen.done, seen.accepted) == (status, done, False)
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def test_the_papers_way_shows_no_exit_code_and_cuts_nothing(make: Make) -> None:
    environment = make(compat="paper")
    environment.reset(Trial("0"))
    text = environment.interact(bash("seq 100000; (exit 3)")).text
    assert "left out" not in text
    assert text.endswith("100000")


def test_only_allowed_commands_run(make: Make) -> None:
    environment = make(allowed_commands=["touch", "ls"])
    assert "ls, touch" in environment.instructions
    environment.reset(Trial("0"))
    seen = environment.interact(bash("touch /kept && $(rm -rf /done)"))
    assert not seen.accepted
    assert "rm" in seen.text or "told apart" in seen.text
    assert environment.interact(bash("ls /kept")).text.startswith("Output:\nls: cannot access")
    assert environment.interact(bash("touch /done")).accepted
    assert environment.complete().outcome is EvaluationOutcome.CORRECT


@pytest.mark.parametrize(("init", "said"), [("exit 9", "exit code 9"), ("sleep 60", "within 0.5 seconds")])
def test_a_set_up_that_fails_is_the_tasks_fault(make: Make, init: str, said: str) -> None:
    environment = make({"0": entry(init=init)}, action_timeout=0.5)
    opening = environment.reset(Trial("0"))
    assert opening.observation.status is SessionStatus.TASK_ENVIRONMENT_ERROR
    assert said in opening.observation.reason
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def test_a_grading_script_that_hangs_grades_as_wrong(make: Make) -> None:
    environment = make({"0": entry(evaluation="sleep 60")}, action_timeout=0.5)
    environment.reset(Trial("0"))
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def lose_machine(environment: OperatingSystemEnvironment) -> None:
    machine: Any = environment._machine
    os.kill(machine.first_process, signal.SIGKILL)


def test_a_machine_lost_by_an_action_ends_the_task_as_wrong_and_the_next_task_works(make: Make) -> None:
    environment = make()
    environment.reset(Trial("0"))
    environment.interact(bash("touch /done"))
    lose_machine(environment)
    seen = environment.interact(bash("true"))
    assert (seen.done, seen.reason) == (True, "the agent destroyed its machine")
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT
    environment.reset(Trial("0"))
    assert environment.interact(bash("touch /done; echo on")).text == "Output:\non"
    assert environment.complete().outcome is EvaluationOutcome.CORRECT


def test_a_machine_that_is_gone_when_graded_is_graded_as_wrong(make: Make) -> None:
    environment = make()
    environment.reset(Trial("0"))
    environment.interact(bash("touch /done"))
    lose_machine(environment)
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def test_a_lost_machine_is_infrastructure_where_no_other_starts(make: Make) -> None:
    def no_machine() -> Sandbox:
        raise EnvironmentUnavailable("no more machines")

    environment: Any = make()
    environment.reset(Trial("0"))
    lose_machine(environment)
    environment._make_machine = no_machine
    with pytest.raises(EnvironmentUnavailable, match="died"):
        environment.interact(bash("true"))


TAKE_OVER = """python3 - <<'PROGRAM'
import ctypes, os
ptrace = ctypes.CDLL(None).ptrace
ptrace.argtypes = [ctypes.c_long] * 4
attach, get, set_, detach, anything, instruction = 16, 12, 13, 17, 0x40000000, 16
ptrace(attach, 1, 0, 0)
os.waitpid(1, anything)
registers = (ctypes.c_ulonglong * 27)()
ptrace(get, 1, 0, ctypes.addressof(registers))
registers[instruction] = 8
ptrace(set_, 1, 0, ctypes.addressof(registers))
ptrace(detach, 1, 0, 0)
PROGRAM
sleep 0.5"""
"""Makes the first process jump to nowhere."""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the script knows the registers of x86-64 alone")
def test_an_agent_that_destroys_its_machine_has_failed_its_task(make: Make) -> None:
    environment = make()
    environment.reset(Trial("0"))
    environment.interact(bash("touch /done"))
    seen = environment.interact(bash(TAKE_OVER))
    assert seen.done or environment.interact(bash("true")).done
    assert environment.complete().outcome is EvaluationOutcome.INCORRECT


def test_an_agent_cannot_end_the_first_process_of_its_machine(make: Make) -> None:
    environment = make()
    environment.reset(Trial("0"))
    environment.interact(bash("echo garbage > /proc/1/fd/0; kill -9 1"))
    assert environment.interact(bash("sleep 0.1; echo on")).text == "Output:\non"


def test_two_environments_have_machines_of_their_own(make: Make) -> None:
    first, second = make(), make()
    first.reset(Trial("0"))
    second.reset(Trial("0"))
    first.interact(bash("touch /done"))
    assert second.complete().outcome is EvaluationOutcome.INCORRECT
    assert first.complete().outcome is EvaluationOutcome.CORRECT


def test_agentbench_answers_are_graded_by_its_checkers(make: Make) -> None:
    task = {
        "description": "How many files are in /data?",
        "create": {"init": {"code": "mkdir /data && touch /data/a /data/b"}},
        "start": "sleep 300",
        "evaluation": {
            "check": [None, {"language": "python", "file": "check/integer-match.py"}],
            "example": {"code": "ls /data | wc -l"},
        },
    }
    last = {
        "description": "Say yes.",
        "evaluation": {
            "check": [
                {"language": "python", "code": "import sys; assert sys.argv[1] == 'yes'"},
                {"code": "test $1 = yes"},
            ]
        },
    }
    environment = make([task, {"description": "Which?", "evaluation": {"match": "this"}}, last])
    for id_, answer, right in (
        ("0", "Act: answer(2)", True),
        ("0", "Act: answer(3)", False),
        ("0", "Act: finish", False),
        ("1", "Act: answer(this)", True),
        ("1", "Act: answer(that)", False),
        ("2", "Act: answer(yes)", True),
        ("2", "Act: answer(no)", False),
    ):
        environment.reset(Trial(id_))
        if id_ == "0":
            # The process is there at once, the program in it a moment later.
            wait = "until pgrep sleep > /dev/null; do :; done; pgrep -c sleep"
            assert environment.interact(bash(wait)).text == "Output:\n1"
        assert environment.interact(answer).done
        assert environment.complete().outcome is (
            EvaluationOutcome.CORRECT if right else EvaluationOutcome.INCORRECT
        )


@needs_agentbench
def test_agentbench_examples_solve_their_tasks() -> None:
    need_bubblewrap()
    path = AGENTBENCH / "data" / "7" / "bootstrap.json"
    environment = OperatingSystemEnvironment(tasks=path)
    oracle: Any = oracle_of(environment)
    solved = []
    try:
        for id_ in list(environment.task_ids())[:8]:
            environment.reset(Trial(id_))
            oracle._task, oracle._seen = oracle._tasks[id_], None
            oracle.observe(environment.interact(oracle.infer(None)))
            environment.interact(oracle.infer(None))
            solved.append(environment.complete().reward)
    finally:
        environment.release()
    assert sum(solved) >= 7


def test_metrics_count_by_skill(make: Make) -> None:
    environment = make()
    record = SessionRecord("0", 0, SessionStatus.COMPLETED, EvaluationOutcome.CORRECT, 1.0)
    metrics = environment.calculate_metric([record, record])
    assert metrics["skill.touch.correct_rate"] == 1.0
    assert metrics["overall.basic.session_count"] == 2.0


@pytest.mark.parametrize(
    "options",
    [
        {"sandbox": "chroot"},
        {"shell": "zsh"},
        {"allowed_commands": "all"},
    ],
)
def test_senseless_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be|at least"):
        OperatingSystemEnvironment(**options)


@pytest.mark.parametrize("timeout", [0, -1.0, 1e300, float("inf"), float("nan")])
def test_a_time_limit_has_bounds(timeout: float) -> None:
    with pytest.raises(ConfigError, match="at most 86400 seconds"):
        OperatingSystemEnvironment(action_timeout=timeout)


def test_observations_have_room() -> None:
    with pytest.raises(ConfigError, match="at least 200, not 10"):
        OperatingSystemEnvironment(max_observation_chars=10)


def test_ground_truth_is_nowhere_in_sight(make: Make) -> None:
    environment = make(
        {"0": entry(solution="touch /done # secret-mark", evaluation="test -e /done # secret-mark")}
    )
    opening = environment.reset(Trial("0"))
    shown = json.dumps(
        [environment.instructions, opening.goal, *(message.text for message in opening.history)]
    )
    assert "secret-mark" not in shown
    seen = environment.interact(bash("grep -rls secret-mark /etc /root /tmp /var /proc/[0-9]*/cmdline"))
    assert "secret" not in seen.text.replace("secret-mark /etc", "").replace("grep", "")
    assert environment.interact(WORLD.do_nothing).done
