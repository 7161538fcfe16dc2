"""An observation without what legitimately differs between two runs: times, process ids, random names."""

from __future__ import annotations

import re

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d{1,10})?)?"
# Nothing that touches a mask is masked, so that a second pass finds nothing the first one did not.
_START = r"(?<![0-9A-Za-z>])"
_END = r"(?![0-9A-Za-z<])"

_TIMES = (
    rf"{_DAY},? {_MONTH} +\d{{1,2}},? (?:\d{{4}} )?{_CLOCK}(?: ?[AP]M)?(?: [A-Z]{{3,4}})?(?: \d{{4}})?",
    rf"{_DAY},? \d{{1,2}} {_MONTH} \d{{4}}(?: {_CLOCK})?(?: [+-]\d{{4}}| [A-Z]{{3,4}})?",
    rf"{_MONTH} +\d{{1,2}},? +(?:\d{{4}}|{_CLOCK})",
    rf"\d{{4}}[-/]\d\d[-/]\d\d(?:[T _]{_CLOCK})?(?: ?[+-]\d\d:?\d\d|Z)?",
    r"20\d{6}(?:[T_-]?\d{4,6})?",
    _CLOCK,
    r"[12]\d{9}(?:\.\d+|\d{3}|\d{6}|\d{9})?",
    r"\d{1,9}m\d{1,2}\.\d{1,9}s",
)

_SIZE = r"\d+(?:\.\d+)?(?:[KMGTB]|[KMGT]i)?"
_LOAD = r"\d+\.\d\d,? \d+\.\d\d,? \d+\.\d\d"
# What a machine tells of itself: its load, its memory, its disks, how long it has been up.
_MACHINE = (
    (rf"^.*\bup .{{1,40}}\busers?, +load average: {_LOAD}", "<machine>"),
    (r"^up (?:\d+ \w+(?:, )?){1,5}$", "<machine>"),
    (rf"^{_LOAD} \d+/\d+ \d+$", "<machine>"),
    (r"^\d{1,9}\.\d\d \d{1,10}\.\d\d$", "<machine>"),
    (r"^([A-Z]\w{2,30}(?:\(\w+\))?:)\s+\d+ kB$", r"\1 <machine>"),
    (rf"^((?:Mem|Swap|Total|Low|High|-/\+ buffers/cache):) +{_SIZE}(?: +{_SIZE}){{1,6}} *$", r"\1 <machine>"),
    (r"^(cpu\d*|intr|softirq)(?: +\d+){4,}$", r"\1 <machine>"),
    (r"^(ctxt|btime|processes|procs_running|procs_blocked) \d+$", r"\1 <machine>"),
    (r"^((?:cpu MHz|bogomips|CPU MHz|CPU\(s\) scaling MHz|BogoMIPS)\s*:\s*)\S+", r"\1<machine>"),
    (r"^(Tasks|Threads): +\d+ total,.*$", r"\1: <machine>"),
    (r"^(%Cpu\(s\)|[KMG]iB (?:Mem|Swap)) *:.*$", r"\1: <machine>"),
    (rf"^(\S+) +(?:\w+ +)?{_SIZE} +{_SIZE} +{_SIZE} +\d{{1,3}}% +(/\S*)$", r"\1 <machine> \2"),
    (
        r"^( *(?:nr|numa|pg|pswp|thp|compact|workingset|slabs|kswapd|zone|swap|unevictable|allocstall)\w*)"
        r" +\d+$",
        r"\1 <machine>",
    ),
    (r"^(Node \d+, zone +\w+)(?: +\d+){8,16} *$", r"\1 <machine>"),
    (r"^(some|full) avg10=\S+ avg60=\S+ avg300=\S+ total=\d+$", r"\1 <machine>"),
    (r"^ {1,4}\d+ +\d+ (\w+)(?: \d+){11,20}$", r"\1 <machine>"),
    (r"^\d+ (\(.{1,40}\)) [A-Z](?: -?\d+){20,60}$", r"<process> \1"),
    (r"^\d+ \d+ \d+:\d+ (/\S* /\S* )", r"<machine> \1"),
    (r"\b((?:cgroup|ipc|mnt|net|pid|time|user|uts)(?:_for_children)?:)\[\d+\]", r"\1[<machine>]"),
    # a line of `top`
    (
        r"^ *\d+ (\S{1,32}) +(?:-?\d+|rt) +-?\d+(?: +\d[\d.]*[kmgt]?){3} [A-Z]"
        r"(?: +\d+\.\d){2} +\d+:\d\d\.\d\d (\S+) *$",
        r"<process> \1 \2",
    ),
    # each process is a folder there
    (r"^(dr-xr-xr-x[.+]?) +\d+ (\S+ +\S+ +0 .{1,40} (?:\.?/)?proc/?)$", r"\1 <machine> \2"),
    (rf"\b(copied, )\d+(?:\.\d+)?(?:e-\d+)? s, \d+(?:\.\d+)? [kMGT]?B/s{_END}", r"\1<time>"),
    (r"^((?:non)?voluntary_ctxt_switches:)\s+\d+$", r"\1 <machine>"),
    (r"^ *(?:\d+ +){12,24}\d+$", "<machine>"),
    (r"^(Device): \S+\s+Inode: \d+\s+Links: ", r"\1: <machine> Links: "),
    (r"^ *\d+ +([-dlbcps][-rwxsStT]{9}[ .+])", r"<machine> \1"),
)

_MASKS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.MULTILINE), mask)
    for pattern, mask in (
        # a line of `ps`: user, process id, sizes and times; its command stays
        (r"^(\S{1,32}) +\d+ +\d+\.\d +\d+\.\d +\d+ +\d+ (\S+) +(\S+) +\S+ +\d+:\d\d ", r"\1 <process> "),
        *_MACHINE,
        (r"^ *\d+ (?:\?|pts/\d+|tty\d*) +\S* *\d\d:\d\d:\d\d ", "<process> "),
        *((f"{_START}(?:{time}){_END}", "<time>") for time in _TIMES),
        (r"\b(real|user|sys)(\s{1,8})\d+\.\d+\b", r"\1\2<time>"),
        (r"^(\[\d{1,4}\][+-]?) +\d+$", r"\1 <process>"),
        (r"\b(PID|pid|process|Process|PPID|ppid)([ =:]{1,3})\d+\b", r"\1\2<process>"),
        (r"\btmp\.\w{6,12}\b", "tmp.<random>"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<random>"),
        (
            r"(line \d+:) {1,9}\d+ (?=Killed|Terminated|Segm|Abort|Hangup|CPU time|File size)",
            r"\1 <process> ",
        ),
    )
)


def normalise(observation: str) -> str:
    """Masked text; masking it again changes nothing. Linear time for the patterns' bounded repeats."""
    for pattern, mask in _MASKS:
        observation = pattern.sub(mask, observation)
    return observation
