"""Which commands a script uses, found in its syntax tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.operating_system.allowed_commands import (
    PAPER_COMMANDS,
    UncheckableScript,
    allowed_set,
    commands_of,
    forbidden,
)
from perdure.environments.operating_system.tasks import SKILLS, load_tasks

pytest.importorskip("bashlex", reason="the os extra is not installed")

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "lifelongagentbench" / "os_interaction.json"


def test_no_published_solution_is_refused_by_the_published_preset() -> None:
    if not PUBLISHED.exists():
        pytest.skip(f"the published tasks are not beside the project ({PUBLISHED})")
    tasks = load_tasks(PUBLISHED).tasks
    scripts = {id_: task.solution.text for id_, task in tasks.items() if task.solution is not None}
    assert len(scripts) == 250
    assert {
        id_: problem for id_, text in scripts.items() if (problem := forbidden(text, PAPER_COMMANDS))
    } == {}


@pytest.mark.parametrize(
    ("script", "used"),
    [
        ("ls -l | wc -l", {"ls", "wc"}),
        ("cd /tmp && touch a; rm b || echo no", {"cd", "touch", "rm", "echo"}),
        ("x=$(cat /etc/passwd) y=1", {"cat"}),
        ('echo "there are $(ls | wc -l)"', {"echo", "ls", "wc"}),
        ("echo `rm x`", {"echo", "rm"}),
        ("for i in 1 2; do touch $i; done", {"touch"}),
        ("if grep -q a b; then rm b; else mv b c; fi", {"grep", "rm", "mv"}),
        ("while sleep 1; do ls; done", {"sleep", "ls"}),
        ("f() { rm x; }; f", {"rm"}),
        ("diff <(ls) <(rm a)", {"diff", "ls", "rm"}),
        ("/bin/ls; ../x/run.sh", {"ls", "run.sh"}),
        ("echo 'sleep 3' > run.sh && chmod +x run.sh && ./run.sh", {"echo", "chmod"}),
        ("echo reboot >> run.sh; run.sh", {"echo", "run.sh"}),
        ("find / -name a -exec rm {} +", {"find", "rm"}),
        ("cat <<EOF\n$(reboot)\nEOF", {"cat", "reboot"}),
        ("cat <<'EOF'\n$(reboot)\nEOF", {"cat"}),
        ("(cd x; ls)", {"cd", "ls"}),
        ("A=1 env", {"env"}),
        ("# rm x\nls", {"ls"}),
        ("echo 'rm x'", {"echo"}),
        ("", set()),
        (" \n ", set()),
    ],
)
def test_commands_of_a_script(script: str, used: set[str]) -> None:
    assert commands_of(script) == used


@pytest.mark.parametrize(
    "script", ["$x y", "`cat f` y", "$(echo rm) x", "find . -exec $x {} +", "echo 'open", "((", "if"]
)
def test_what_cannot_be_known_is_refused(script: str) -> None:
    with pytest.raises(UncheckableScript):
        commands_of(script)
    assert "cannot be told" in (forbidden(script, PAPER_COMMANDS) or "")


def test_the_published_preset_has_the_29_labels_and_what_the_solutions_use() -> None:
    assert len(SKILLS) == 29
    assert set(SKILLS) < PAPER_COMMANDS
    assert forbidden("[ -f a ] && date | cut -c1 | sort", PAPER_COMMANDS) is None
    for other in ("python3 -c 1", "curl x", "apt install y", "gcc a.c", "nc -l 1", "reboot"):
        assert forbidden(other, PAPER_COMMANDS)
    assert allowed_set("paper") == PAPER_COMMANDS
    assert allowed_set(["ls"]) == frozenset({"ls"})
    assert allowed_set(None) is None


def test_the_observation_names_what_is_wrong_and_what_is_allowed() -> None:
    assert (
        forbidden("ls; reboot; dd", frozenset({"ls", "cat"}))
        == "not allowed here: dd, reboot; allowed are cat, ls"
    )
    assert forbidden("ls", frozenset({"ls"})) is None


def test_a_script_that_is_too_long_to_check_is_refused() -> None:
    assert "characters" in (forbidden("ls\n" * 10_000, PAPER_COMMANDS) or "")


@given(st.text(st.sampled_from("ls$(){}`'\"\\|;&<>= \nif#[]"), max_size=30))
def test_no_script_breaks_the_check(script: str) -> None:
    assert forbidden(script, PAPER_COMMANDS) is None or forbidden(script, PAPER_COMMANDS)
