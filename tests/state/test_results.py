"""A tool that returned has accepted the call, whatever it returned; what it raises is told apart."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import io
import itertools
import json
import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from perdure import Refusal, StateAgent
from perdure.core.errors import ConfigError, PerdureError
from perdure.core.well_formed import spelled_out
from perdure.state.rendering import readable
from perdure.state.tools import Tool
from tests.state.test_agent import Asked, call, look, make


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    more: Any = None


class Account(BaseModel):
    name: str
    password: SecretStr = SecretStr("hidden")


class Opaque:
    pass


class Talking:
    def __str__(self) -> str:
        return "talking"


class Broken:
    def __repr__(self) -> str:
        raise ValueError("no")

    __str__ = __repr__


class Unreadable(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        raise OSError(key)

    def __iter__(self) -> Iterator[str]:
        return iter("abc")

    def __len__(self) -> int:
        return 3


class Pretending:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("who am I?")

    @__class__.setter
    def __class__(self, value: Any) -> None: ...


def selfish() -> list[Any]:
    outer: list[Any] = [1]
    outer.append({"me": outer})
    return outer


def nested(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def failing() -> Iterator[int]:
    yield 1
    raise ValueError("in the middle")


LOOP = Point(1)
LOOP.more = LOOP

RESULTS: list[tuple[Any, str]] = [
    ("text", "text"),
    ("", ""),
    (None, "null"),
    (True, "true"),
    (1.5, "1.5"),
    (math.nan, "NaN"),
    ([math.inf, -math.inf], "[Infinity,-Infinity]"),
    (b"bytes that are text\n", "bytes that are text\n"),
    (b"\xff\xfe\x00", r"b'\xff\xfe\x00'"),
    (b"\x00\x01", r"b'\x00\x01'"),
    (bytearray(b"ab"), "ab"),
    ({"raw": b"\x80"}, r'{"raw":"b' + r"'\\x80'" + '"}'),
    (Opaque(), "<tests.state.test_results.Opaque object>"),
    (Talking(), "talking"),
    (Opaque, "<class 'tests.state.test_results.Opaque'>"),
    (look, "<function look>"),
    (len, "<built-in function len>"),
    ((i * i for i in range(3)), "[0,1,4]"),
    (map(str, [1, 2]), '["1","2"]'),
    (failing(), "[1 … (the rest cannot be read: ValueError)"),
    ("\ud83d\ude00 \ud83d!", "\U0001f600 \\ud83d!"),
    (["\udc00"], '["\\udc00"]'),
    (selfish(), '[1,{"me":"<this list again: it contains itself>"}]'),
    (LOOP, '{"x":1,"more":"<this Point again: it contains itself>"}'),
    ({"b", "a", "c"}, '["a","b","c"]'),
    (collections.deque([1]), "[1]"),
    ((1, "a"), '[1,"a"]'),
    ({1: "a", None: "b", (1, 2): "c"}, '{"1":"a","null":"b","(1, 2)":"c"}'),
    (Colour.RED, "red"),
    (Point(1, Point(2)), '{"x":1,"more":{"x":2,"more":null}}'),
    (Account(name="Ada"), '{"name":"Ada","password":"**********"}'),
    ([Account(name="Ada")], '[{"name":"Ada","password":"**********"}]'),
    (datetime.date(2024, 2, 3), "2024-02-03"),
    (decimal.Decimal("1.50"), "1.50"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Path("a/b"), "a/b"),
    (ValueError("x"), "ValueError('x')"),
    (10**5000, '"<a whole number of 16610 bits>"'),
    (-(10**20), "-100000000000000000000"),
    (Broken(), "<a Broken that cannot be shown: ValueError>"),
    ([1, Broken(), 2], '[1,"<a Broken that cannot be shown: ValueError>",2]'),
    (Unreadable(), "{ … (the rest cannot be read: OSError)"),
    (Pretending(), "<a Pretending that cannot be shown: RuntimeError>"),
]


@pytest.mark.parametrize(("result", "text"), RESULTS, ids=lambda value: type(value).__name__)
def test_a_result_is_shown(result: Any, text: str) -> None:
    assert readable(result) == text


@pytest.mark.parametrize(
    "result",
    [
        itertools.repeat("x"),
        (i for i in itertools.count()),
        [(i for i in itertools.count())],
        map(str, itertools.count()),
        range(10**12),
        "x" * 10_000_000,
        b"\xff" * 10_000_000,
        list(range(1_000_000)),
        nested(100_000),
        io.StringIO("file"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_result_without_an_end_has_one(result: Any) -> None:
    agent, model, calls = acting(lambda: result)
    assert agent.step("go").accepted
    assert agent.step("on").finished
    assert len(model.prompt(1)[1].text) < 20_000
    assert calls == [1]


def acting(act: Callable[[], Any], **options: Any) -> tuple[StateAgent, Asked, list[int]]:
    """An agent whose only tool does as told, and the list of its calls."""
    calls: list[int] = []

    def tool() -> Any:
        calls.append(1)
        return act()

    replies = call("tool", {"count": 1}), call("finish", answer="end")
    return *make(*replies, tools=[tool], **options), calls


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.decimals()
    | st.datetimes()
    | st.complex_numbers()
    | st.sampled_from([Opaque(), look, Opaque, Colour.RED, LOOP, NotImplemented])
    | st.builds(Broken)
    | st.builds(Pretending),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.integers() | st.text() | st.binary() | st.none(), inner, max_size=3)
        | inner.map(lambda value: (item for item in [value]))
        | inner.map(lambda value: Point(1, value))
    ),
    max_leaves=8,
)


@given(ANYTHING)
def test_whatever_a_tool_returns_was_accepted_once(result: Any) -> None:
    agent, model, calls = acting(lambda: result)
    outcome = agent.run("g")
    assert (outcome.finished, outcome.steps, calls) == (True, 2, [1])
    assert outcome.state.count == 1
    assert agent.trace()["counts"] == dict.fromkeys(agent.trace()["counts"], 0)
    model.prompt(1)[1].text.encode()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=12,
    ).filter(lambda value: not isinstance(value, str))
)
def test_what_is_json_is_shown_as_that_json(value: Any) -> None:
    assert json.loads(readable(value)) == value


@given(st.text(st.characters(exclude_categories=())))
def test_texts_become_well_formed_and_well_formed_ones_stay(text: str) -> None:
    mended = spelled_out(text)
    mended.encode()
    try:
        text.encode()
    except UnicodeEncodeError:
        assert mended != text
    else:
        assert mended == text


def test_an_accepted_call_is_in_the_journal_whatever_it_returned(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    agent, _, calls = acting(lambda: [b"\xff", Broken(), "\ud800", math.nan], journal=journal)
    agent.run("g", max_steps=1)
    agent.close()
    again, model = make(call("finish", answer="end"), journal=journal)
    assert again.state.count == 1
    assert again.run("g").finished
    assert r"\ud800" in model.prompt(0)[1].text
    assert calls == [1]
    again.close()


def test_a_generator_function_is_run_to_its_end_within_the_call() -> None:
    done: list[int] = []

    def rows(fails: bool = False) -> Iterator[int]:
        for row in range(150_000):
            done.append(row)
            yield row
        if fails:
            raise Refusal("no more")

    agent, _ = make(
        call("rows", {"count": 1}), call("rows", {"count": 2}, fails=True), call("finish"), tools=[rows]
    )
    step = agent.step("go")
    assert step.accepted
    assert step.result is not None
    assert step.result.startswith("[0,1,2,3")
    assert not agent.step("go").accepted
    assert len(done) == 300_000
    agent.step("go")
    assert agent.state.count == 1


async def later() -> Any:
    yield 1


def test_an_asynchronous_generator_is_no_tool() -> None:
    with pytest.raises(ConfigError, match="tools: later is async"):
        Tool(later)


def test_an_interruption_while_a_result_is_shown_does_not_undo_the_call(tmp_path: Path) -> None:
    class Slow:
        def __repr__(self) -> str:
            raise KeyboardInterrupt

    journal = tmp_path / "j.jsonl"
    agent, _, _ = acting(Slow, journal=journal)
    with pytest.raises(KeyboardInterrupt):
        agent.run("g")
    assert agent.state.count == 1
    agent.close()
    again, model = make(call("finish", answer=""), journal=journal)
    assert again.state.count == 1
    again.run("g")
    assert 'The call {"tool": "tool", "arguments": {}} was carried out' in model.prompt(0)[1].text
    again.close()


class Impolite(Refusal):
    def __str__(self) -> str:
        raise ValueError("no message either")


@pytest.mark.parametrize(
    ("refusal", "shown"),
    [
        (Refusal("the door is locked"), "tool refused the call: the door is locked"),
        (Refusal("two\nlines \ud800"), "tool refused the call: two lines \\ud800"),
        (Refusal(), "tool refused the call: no reason given"),
        (Impolite("x"), "tool refused the call: its message cannot be shown"),
        (Refusal("x" * 100_000), "characters left out"),
    ],
)
def test_a_refusal_is_shown_and_its_patch_dropped(refusal: Refusal, shown: str) -> None:
    def refuse() -> None:
        raise refusal

    agent, model, calls = acting(refuse)
    step = agent.step("go")
    assert (step.accepted, agent.state.count, calls) == (False, 0, [1])
    assert step.result is not None
    assert shown in step.result
    agent.run("g")
    assert agent.trace()["counts"]["semantic"] == 1
    assert isinstance(refusal, PerdureError)
    assert len(model.prompt(0)[1].text) < 10_000


ERRORS = [
    KeyError("nut"),
    ValueError("bad"),
    IndexError(),
    AssertionError("x"),
    KeyboardInterrupt(),
    SystemExit(3),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("reopened", [False, True])
def test_every_other_exception_reaches_the_caller_and_is_told_as_unsure(
    tmp_path: Path, error: BaseException, reopened: bool
) -> None:
    def fail() -> None:
        raise error

    journal = tmp_path / "j.jsonl"
    agent, model, calls = acting(fail, journal=journal)
    with pytest.raises(type(error)) as caught:
        agent.run("g")
    assert caught.value is error
    assert agent.state.count == 0
    line = json.loads(journal.read_bytes().splitlines()[-1])
    assert (line["kind"], line["outcome"], line["entry"]) == ("outcome", "raised", None)
    if reopened:
        agent.close()
        agent, model = make(call("finish", answer="end"), journal=journal)
    result = agent.run("g")
    assert (result.finished, result.answer, result.steps, calls) == (True, "end", 2, [1])
    assert result.state.count == 0
    prompt = model.requests[-1].messages[-1].text
    assert f"failed ({type(error).__name__}: " in prompt
    assert "Whether it took effect is unknown." in prompt
    agent.close()
