"""What every sandbox keeps to. `check_sandbox` is the suite.

A suite in a test file of your own:

    failed = [result for result in check_sandbox(MySandbox) if not result.passed]
    assert not failed
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from perdure.conformance.checks import CheckFailed, require, run_checks
from perdure.conformance.result import CheckResult
from perdure.core.errors import EnvironmentUnavailable
from perdure.sandboxes.sandbox import ExecResult, Sandbox

_SECONDS = 20.0
_BYTES = 10_000
_SHORT = 0.5
"""Timeout of a command that would run much longer."""

FOREIGN_ADDRESS = "192.0.2.1"
"""An address that no network routes (RFC 5737); a sandbox must not even try."""


class Subject:
    """A sandbox under test, and others made on demand."""

    def __init__(self, build: Callable[[], Sandbox]) -> None:
        self._build = build
        self._built: list[Sandbox] = []
        self.sandbox = self.fresh()

    def fresh(self) -> Sandbox:
        """Another sandbox, closed at the end."""
        self._built.append(self._build())
        return self._built[-1]

    def run(self, command: str, *, timeout: float = _SECONDS, max_output: int = _BYTES) -> ExecResult:
        """A command in the sandbox under test."""
        return self.sandbox.exec(command, timeout=timeout, max_output=max_output)

    def text(self, command: str) -> str:
        """Its output, without white space around it."""
        return self.run(command).output.decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Close every sandbox."""
        for sandbox in self._built:
            sandbox.close()


def check_sandbox(build: Callable[[], Sandbox]) -> Iterator[CheckResult]:
    """Run every check on sandboxes that `build` makes.

    One result a check, in order; nothing is raised for a plugin's failure but what `build` itself raises.
    """
    subject = Subject(build)
    try:
        yield from run_checks(subject, CHECKS)
    finally:
        subject.close()


def commands_run(subject: Subject) -> str:
    """Exit code and output, both streams in the order they were written."""
    result = subject.run("echo one; echo two >&2; echo three; (exit 7)")
    require(result.exit_code == 7, f"exit code {result.exit_code}, not 7")
    require(result.output == b"one\ntwo\nthree\n", f"output {result.output!r}")
    require(not result.truncated and not result.timed_out, "a short command was cut")
    return ""


def input_is_empty(subject: Subject) -> str:
    """A program that asks gets no input instead of waiting."""
    result = subject.run('read answer; echo "got:$answer"', timeout=5.0)
    require(result.output == b"got:\n", f"output {result.output!r}")
    return ""


def any_bytes_pass(subject: Subject) -> str:
    """Output that is no UTF-8, and commands with any character."""
    require(subject.run(r"printf '\377\000\200'").output == b"\xff\x00\x80", "bytes were changed")
    require(subject.text("printf '%s' 'žluť €'") == "žluť €", "characters were changed")
    return ""


def files_last_between_commands(subject: Subject) -> str:
    """What one command writes the next one reads."""
    subject.run("echo kept > /tmp/kept")
    require(subject.text("cat /tmp/kept") == "kept", "a file was lost")
    return ""


def background_processes_live(subject: Subject) -> str:
    """What a command leaves in the background lives on, and does not hold the command up."""
    started = time.monotonic()
    subject.run("(sleep 1; echo late > /tmp/late) > /dev/null 2>&1 & echo started")
    require(time.monotonic() - started < 0.9, "the command waited for its background process")
    time.sleep(1.6)
    require(subject.text("cat /tmp/late") == "late", "the background process died")
    return ""


def timeouts_end_commands(subject: Subject) -> str:
    """The command and its children are gone, its output so far is kept, and the sandbox goes on."""
    started = time.monotonic()
    result = subject.run("echo partial; { sleep 3; touch /tmp/survivor; } & sleep 60", timeout=_SHORT)
    waited = time.monotonic() - started
    require(result.timed_out and result.exit_code is None, f"{result}")
    require(b"partial" in result.output, f"the output so far was lost: {result.output!r}")
    require(waited < _SHORT + 5, f"it took {waited:.1f} s")
    time.sleep(3.2)
    seen = subject.text("[ -e /tmp/survivor ] && echo outlived; echo on")
    require("outlived" not in seen and seen.endswith("on"), f"a child outlived the timeout: {seen!r}")
    return f"{waited:.2f} s for a timeout of {_SHORT} s"


def output_is_bounded(subject: Subject) -> str:
    """At most `max_output` bytes come back, head and tail among them, and the cut is said."""
    result = subject.run("seq 1 200000", max_output=2_000)
    require(result.truncated, "a cut was not said")
    require(len(result.output) <= 2_000, f"{len(result.output)} bytes")
    require(result.output.startswith(b"1\n2\n"), "the head is missing")
    require(result.output.endswith(b"200000\n"), "the tail is missing")
    return ""


def files_pass_both_ways(subject: Subject) -> str:
    """`write_file` makes folders; `read_file` gives the same bytes, and FileNotFoundError."""
    content = bytes(range(256)) * 500
    subject.sandbox.write_file("/srv/new/folder/file", content)
    require(subject.sandbox.read_file("/srv/new/folder/file") == content, "other bytes came back")
    require(subject.text("stat -c %s:%U /srv/new/folder/file") == f"{len(content)}:root", "size or owner")
    try:
        subject.sandbox.read_file("/srv/absent")
    except FileNotFoundError:
        return ""
    raise CheckFailed("reading a file that is not there did not raise FileNotFoundError")


def sandboxes_are_separate(subject: Subject) -> str:
    """Files and processes of one are not seen in another."""
    subject.run("touch /tmp/mine; sleep 54321 & ")
    other = subject.fresh()
    seen = other.exec(
        "ls /tmp/mine; cat /proc/[0-9]*/cmdline | tr '\\0' ' '", timeout=_SECONDS, max_output=_BYTES
    ).output
    require(b"cannot access" in seen, "a file is seen in another sandbox")
    require(b"54321" not in seen, "a process is seen in another sandbox")
    return ""


def there_is_no_network(subject: Subject) -> str:
    """No route leads out."""
    result = subject.run(f"timeout 5 bash -c 'echo > /dev/tcp/{FOREIGN_ADDRESS}/80'")
    require(result.exit_code == 1, f"a connection outside did not fail at once: {result}")
    return ""


def the_clock_is_safe(subject: Subject) -> str:
    """Root inside cannot set the host's clock."""
    before = time.time()
    subject.run("date -s '2001-02-03 04:05:06'")
    require(abs(time.time() - before) < 3600, "the clock of the host was set")
    require(subject.text("date +%Y") != "2001", "the clock was set")
    return ""


def accounts_work(subject: Subject) -> str:
    """Root inside administers users, groups and ownership."""
    script = "groupadd crew && useradd -m -G crew ann && touch /tmp/f && chown ann:crew /tmp/f"
    result = subject.run(f"{script} && stat -c %U:%G /tmp/f && su ann -c 'id -un'")
    require(result.output == b"ann:crew\nann\n", f"{result.output!r}")
    return ""


def killing_everything_is_survived(subject: Subject) -> str:
    """`kill -9 -1` as root ends what runs, not the sandbox."""
    subject.run("kill -9 -1")
    require(subject.text("echo alive").endswith("alive"), "the sandbox is dead")
    return ""


def closing_is_idempotent(subject: Subject) -> str:
    """`close` twice; a closed sandbox raises EnvironmentUnavailable."""
    other = subject.fresh()
    other.close()
    other.close()
    try:
        other.exec("true", timeout=_SECONDS, max_output=_BYTES)
    except EnvironmentUnavailable:
        return ""
    raise CheckFailed("a closed sandbox still runs commands")


CHECKS: Sequence[Callable[[Subject], str]] = (
    commands_run,
    input_is_empty,
    any_bytes_pass,
    files_last_between_commands,
    background_processes_live,
    timeouts_end_commands,
    output_is_bounded,
    files_pass_both_ways,
    sandboxes_are_separate,
    there_is_no_network,
    the_clock_is_safe,
    accounts_work,
    killing_everything_is_survived,
    closing_is_idempotent,
)
