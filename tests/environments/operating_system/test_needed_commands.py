"""Which programs the scripts of a task call."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.environments.operating_system import bash_syntax
from perdure.environments.operating_system.machines import known_commands, machine_maker
from perdure.environments.operating_system.needed_commands import Needs, needed_commands, read_needs
from perdure.environments.operating_system.tasks import Check, OsTask, Script, load_tasks
from tests.environments.operating_system.test_os_tasks import PUBLISHED, needs_published
from tests.sandboxes.availability import need_bubblewrap

# A name that no reader knows, so that it is needed wherever it is called, and nowhere else.
X = "frobnicate"


def needed(script: str) -> set[str]:
    needs = Needs()
    read_needs(script, needs)
    return set(needs.programs)


CALLED = [
    f"{X} a",
    f"x=1 {X}",
    f"cd /tmp && {X}; true",
    f"true || {X}",
    f"ls | {X} -x",
    f"! {X}",
    f"(cd /; {X})",
    f"{{ {X}; }}",
    f"if {X} a; then true; fi",
    f"if true; then ls; elif true; then {X}; else ls; fi",
    f"for i in 1 2; do {X} $i; done",
    f"while read a; do {X}; done < b",
    f"f() {{ {X} a; }}; f",
    f"function g {{\n{X} a\n}}\ng",
    f"x=$({X} a)",
    f"x=`{X} a`",
    f'echo "there are $({X} | wc -l)"',
    f"diff <({X}) b",
    f"bash -c '{X} a'",
    f"sh -ec 'cd /; {X}'",
    f"sudo {X}",
    f"sudo -u ann -E {X}",
    f"sudo bash -c '{X}'",
    f"su - ann -c '{X} a'",
    f"timeout 5 {X}",
    f"timeout -k 1 5s {X} a",
    f"env -i A=1 {X}",
    f"nohup {X} &",
    f"nice -n 5 {X}",
    f"ls | xargs -I{{}} {X} {{}}",
    f"ls | xargs -n 1 {X}",
    f"find / -name a -exec {X} {{}} \\;",
    f"find / -execdir sudo {X} {{}} +",
    f"time {X}",
    f"exec {X}",
    f"command {X}",
    f"eval '{X} a'",
    f"trap '{X}' EXIT",
    f"/usr/bin/{X} a",
    f"cat <<EOF\n$({X})\nEOF",
    f"bash <<'EOF'\n{X}\nEOF",
    f"cat > /opt/a.sh <<'EOF'\n#!/bin/bash\n{X} a\nEOF",
    f"cat <<A <<'B'\nls\nA\nls\nB\n{X}",
    f"x=$((1 + 2)); {X} $x",
    f"(( x > 1 )) && {X}",
]
CALLED_AND_BEYOND_BASHLEX = [
    f"[[ $a == b && -n $c ]] && {X}",
    f"case $1 in a|b) {X} ;; esac",
    f"case $1 in\n  a) ls ;;\n  b)\n    {X} c\n    ;;\nesac",
    f"case $1 in\n  a) ls ;;\nesac\n{X}",
    f"a=(x y); {X}",
]
NOT_CALLED = [
    f"echo {X}",
    f"# {X}\nls",
    f"echo '; {X}'",
    f"cat <<'EOF'\n$({X})\nEOF",
    f"cat <<EOF\n{X}\nEOF",
    f"cat <<EOF > a\n{X}",
    f"{X}() {{ ls; }}; {X}",
    f"function {X} {{ ls; }}\n{X}",
    f"alias {X}=ls; {X}",
    f"echo ls > /usr/local/bin/{X}; chmod +x /usr/local/bin/{X}; {X}",
    f"printf ls | tee /usr/local/bin/{X}; {X}",
    f"cp /bin/ls /usr/local/bin/{X} && {X}",
    f"ln -s /bin/ls /usr/bin/{X} || ln -s /bin/ls ~/bin/{X}; {X}",
    f"apt-get install -y {X} && {X}",
    f"if command -v {X} >/dev/null; then {X}; fi",
    f"which {X} && {X}",
    f"/opt/{X} a; ./{X}; ~/{X}; ../x/{X}",
    f'$HOME/{X}; $a {X}; "$b" {X}',
    f"for {X} in a b; do ls; done",
    f"sudo -u {X} ls",
    f"timeout 5 ls {X}",
    f"bash {X}",
    f'bash -c "$a {X}"',
    f"find / -name {X} -delete",
    f"(( {X} > 1 ))",
    f"echo $(( {X} + 1 ))",
    f'echo "it\'s {X}"',
]
NOT_CALLED_AND_BEYOND_BASHLEX = [
    f"[[ $a && {X} ]]",
    f"case $1 in {X}) ls ;; a|{X}) ls ;; esac",
    f"case $1 in\n  a) ls ;;\n  {X})\n  ls\n  ;;\nesac",
    f"a=({X} {X}); ls",
    f"[[ a ]]; {X}() {{ ls; }}\n{X}",
    f"[[ a ]]; echo a 2>&1 >{X}; ls {X}",
    "[[ a ]]; echo '",
]


@pytest.mark.parametrize("script", [*CALLED, *CALLED_AND_BEYOND_BASHLEX])
def test_what_is_called_is_needed(script: str) -> None:
    assert X in needed(script)


@pytest.mark.parametrize("script", [*NOT_CALLED, *NOT_CALLED_AND_BEYOND_BASHLEX])
def test_what_is_not_called_or_made_by_the_script_is_not_needed(script: str) -> None:
    assert X not in needed(script)


@pytest.mark.parametrize("script", NOT_CALLED)
def test_without_bashlex_nothing_more_is_needed(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bashlex", None)
    with pytest.raises(bash_syntax.Unparsable, match="not installed"):
        bash_syntax.syntax_nodes("ls")
    assert X not in needed(script)


def test_without_bashlex_plain_commands_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bashlex", None)
    assert needed("if a; then b | c; fi\nx=$(d)\nsudo e && (f; g)") >= set("abcdefg")


COMMANDS = st.sampled_from(["alpha", "beta-x", "gamma.sh", "d3lta", "eta"])
ARGUMENTS = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r"), max_size=8).map(shlex.quote),
    max_size=2,
)
SIMPLE = st.builds(lambda name, words: (f"{name} {' '.join(words)}", {name}), COMMANDS, ARGUMENTS)


def wrapped(inner: st.SearchStrategy[tuple[str, set[str]]]) -> st.SearchStrategy[tuple[str, set[str]]]:
    """Scripts around scripts, with the programs that all of it calls."""
    two = st.tuples(inner, inner)
    return st.one_of(
        two.flatmap(
            lambda ab: st.sampled_from(["{} && {}", "{}; {}", "{}\n{}", "{} | {}", "if {}; then {}; fi"]).map(
                lambda form: (form.format(ab[0][0], ab[1][0]), ab[0][1] | ab[1][1])
            )
        ),
        inner.map(lambda a: (f"( {a[0]} )", a[1])),
        inner.map(lambda a: (f"f() {{ {a[0]}; }}; f", a[1])),
        inner.map(lambda a: (f"while true; do {a[0]}; done", {*a[1], "true"})),
        inner.map(lambda a: (f"bash -c {shlex.quote(a[0])}", {*a[1], "bash"})),
    )


@given(st.recursive(SIMPLE, wrapped, max_leaves=4))
def test_every_program_of_a_nested_script_is_found_and_no_other(case: tuple[str, set[str]]) -> None:
    script, programs = case
    assert needed(script) - {"if", "then", "while"} == programs


@given(st.text(max_size=300))
def test_any_text_is_read(script: str) -> None:
    for program in needed(script):
        assert "/" not in program
        assert " " not in program


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@given(st.recursive(SIMPLE, wrapped, max_leaves=3))
def test_bash_agrees_that_these_are_scripts(case: tuple[str, set[str]]) -> None:
    checked = subprocess.run(["bash", "-n", "-c", case[0]], capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_every_script_of_a_task_counts() -> None:
    task = OsTask(
        "0",
        "goal",
        initialization=Script("one"),
        background="two",
        evaluation=Script("three"),
        solution=Script("import os", "python"),
        checks=(None, Check(script=Script("four")), Check(checker="integer-match")),
    )
    assert needed_commands(task) == {"one", "two", "three", "python3", "four"}


@needs_published
@pytest.mark.parametrize("root", ["host", "debian"])
def test_what_a_root_lacks_of_the_published_tasks_is_what_bash_does_not_find(root: str) -> None:
    need_bubblewrap()
    make_machine = machine_maker("bubblewrap", root, "fresh")
    known = known_commands(make_machine)
    tasks = load_tasks(PUBLISHED).tasks.values()
    needed = Counter(program for task in tasks for program in needed_commands(task))
    lacking = {program: count for program, count in needed.items() if program not in known}
    print(f"root {root} lacks {json.dumps(lacking)} of {len(tasks)} tasks")
    machine = make_machine()
    found = f"for each in {' '.join(needed)}; do command -v $each >/dev/null || echo $each; done"
    missing = machine.exec(found, timeout=20, max_output=10_000).output.decode().split()
    machine.close()
    assert set(lacking) == set(missing)
    assert len(needed) > 50
    assert root == "host" or not lacking
