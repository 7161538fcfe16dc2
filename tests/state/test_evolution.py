"""A journal that was written under an earlier state schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, create_model, model_validator

from perdure import StateAgent
from perdure.core.errors import ConfigError
from perdure.state.changes import same
from perdure.state.paths import Path as FieldPath
from tests.state.test_agent import Asked, call, make


class Item(BaseModel):
    id: int
    name: str = ""


class First(BaseModel):
    count: int = 0
    notes: dict[str, str] = {}
    items: list[Item] = []
    by_name: dict[str, Item] = {}


PATCH: dict[str, Any] = {
    "count": 3,
    "notes": {"a": "b"},
    "items": [{"id": 1, "name": "one"}, {"id": 2}],
    "by_name": {"x": {"id": 7}},
}


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Of an agent in the middle of a run, whose state is full."""
    path = tmp_path / "j.jsonl"
    with make(call("look", PATCH, place="door"), journal=path, state=First)[0] as agent:
        agent.run("g", max_steps=1)
    return path


def reopened(journal: Path, state: Any, *replies: Any) -> tuple[StateAgent, Asked]:
    return make(*(replies or (call("finish", answer="end"),)), journal=journal, state=state)


def complaint(journal: Path, state: Any) -> str:
    """Why a journal is refused, in one line; the file stays as it is and is free."""
    before = journal.read_bytes()
    for _ in range(2):
        with pytest.raises(ConfigError) as caught:
            reopened(journal, state)
        assert journal.read_bytes() == before
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"journal = {str(journal)!r}: the saved state does not fit ")
    return str(caught.value)


class NewItem(Item):
    tags: list[str] = []
    made: dict[str, int] = {"n": 1}


class Second(First):
    owner: str = "nobody"
    items: list[NewItem] = []  # type: ignore[assignment]
    by_name: dict[str, NewItem] = {}  # type: ignore[assignment]
    more: NewItem | None = None
    rows: list[int] = Field(default_factory=lambda: [1, 2])


def test_new_fields_have_their_defaults_at_every_depth(journal: Path) -> None:
    agent, model = reopened(journal, Second)
    expected = Second(
        count=3,
        notes={"a": "b"},
        items=[NewItem(id=1, name="one"), NewItem(id=2)],
        by_name={"x": NewItem(id=7)},
    )
    assert agent.state == expected
    result = agent.run("g")
    assert (result.finished, result.steps, result.state) == (True, 2, expected)
    assert "door is empty" in model.prompt(0)[1].text, "the run goes on where it stopped"
    agent.close()
    for _ in range(2):
        with reopened(journal, Second)[0] as again:
            assert again.state == expected
            assert same(again.journal.last_state(), json.loads(expected.model_dump_json()))


def test_who_set_a_field_is_still_known(journal: Path) -> None:
    with reopened(journal, Second)[0] as agent:
        origin = agent.journal.provenance()
        assert origin[("items", "1", "name")] == 1
        assert origin[("owner",)] == 2
        (entry,) = agent.journal.history(("owner",))
        assert (entry.action, entry.patch) == (None, {})
        assert entry.observation == "The declared state changed: new fields got their defaults."
        assert same(agent.journal.state_at(1), {"count": 3, **json.loads(First(**PATCH).model_dump_json())})


def test_a_schema_that_changes_again_and_again(journal: Path) -> None:
    fields: dict[str, Any] = {}
    for number in range(5):
        fields[f"new_{number}"] = (int, number)
        model = create_model("Next", __base__=First, **fields)
        with reopened(journal, model)[0] as agent:
            agent.run("g", max_steps=0)
            state = agent.state.model_dump()
            assert [state[f"new_{i}"] for i in range(number + 1)] == list(range(number + 1))
            assert agent.run("g", max_steps=0).steps == 1
    assert "/new_0" in complaint(journal, First), "an earlier program does not lose what a later one wrote"


class Described(First):
    count: int = Field(default=0, description="how many")


def test_a_change_that_touches_no_value_costs_no_step(journal: Path) -> None:
    with reopened(journal, Described)[0] as agent:
        assert len(agent.journal.entries) == 1
    lines = journal.read_bytes().splitlines()
    with reopened(journal, Described)[0]:
        assert journal.read_bytes().splitlines() == lines, "told once"


def test_a_crash_after_the_change_keeps_it(journal: Path) -> None:
    whole = journal.read_bytes()
    reopened(journal, Second)[0].close()
    changed = journal.read_bytes()
    for end in range(len(whole), len(changed) + 1, 17):
        journal.write_bytes(changed[:end])
        with reopened(journal, Second)[0] as agent:
            assert agent.state.owner == "nobody"
            assert agent.state.count == 3


class Wider(BaseModel):
    count: float | None = None
    notes: dict[str, str | int] = {}
    items: list[Item] = []
    by_name: dict[str, Item] = {}


def test_a_wider_type_reads_what_a_narrower_one_wrote(journal: Path) -> None:
    with reopened(journal, Wider)[0] as agent:
        assert agent.state.count == 3.0


class Removed(BaseModel):
    count: int = 0
    items: list[Item] = []
    by_name: dict[str, Item] = {}


class Open(Removed):
    model_config = ConfigDict(extra="allow")


class Closed(Removed):
    model_config = ConfigDict(extra="forbid")


class Unnamed(BaseModel):
    id: int


class RemovedInside(First):
    items: list[Unnamed] = []  # type: ignore[assignment]


class RemovedInMapping(First):
    by_name: dict[str, Unnamed] = {}  # type: ignore[assignment]


class Renamed(BaseModel):
    total: int = 0
    notes: dict[str, str] = {}
    items: list[Item] = []
    by_name: dict[str, Item] = {}


class Owned(Item):
    owner: str


class NewRequired(First):
    items: list[Owned] = []  # type: ignore[assignment]


class NewRequiredAtRoot(First):
    owner: str


class TextCount(First):
    count: str = ""  # type: ignore[assignment]


class Narrowed(First):
    count: Literal[0, 1] = 0


class Bounded(First):
    count: int = Field(default=0, le=2)


class IntNotes(First):
    notes: dict[str, int] = {}  # type: ignore[assignment]


class NoteList(First):
    notes: list[str] = []  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("state", "place", "value"),
    [
        (Removed, "/notes", '{"a":"b"}'),
        (Closed, "/notes", '{"a":"b"}'),
        (RemovedInside, "/items/0/name", "one"),
        (RemovedInMapping, "/by_name/x/name", ""),
        (Renamed, "/count", "3"),
        (NewRequired, "/items/0/owner", '{"id":1,"name":"one"}'),
        (NewRequiredAtRoot(owner="me"), "/owner", "there is "),
        (TextCount, "/count", "3"),
        (Narrowed, "/count", "3"),
        (Bounded, "/count", "3"),
        (IntNotes, "/notes/a", "b"),
        (NoteList, "/notes", '{"a":"b"}'),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_does_not_fit_is_named_with_its_value(journal: Path, state: Any, place: str, value: str) -> None:
    line = complaint(journal, state)
    assert f"the state schema at {place}: " in line
    assert f"; there is {value}" in line or value in line
    with reopened(journal, First)[0] as agent:
        assert agent.state == First(**PATCH), "with the old schema all is as it was"


def test_a_root_field_without_a_default_is_no_state(journal: Path) -> None:
    with pytest.raises(ConfigError, match="give every field a default"):
        reopened(journal, NewRequiredAtRoot)


def test_an_open_schema_keeps_what_it_does_not_declare(journal: Path) -> None:
    with reopened(journal, Open)[0] as agent:
        assert agent.state.notes == {"a": "b"}


class ReadsOldName(BaseModel):
    total: int = Field(default=0, validation_alias=AliasChoices("total", "count"))
    notes: dict[str, str] = {}
    items: list[Item] = []
    by_name: dict[str, Item] = {}


class Moves(Removed):
    remarks: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def notes_are_remarks(cls, data: Any) -> Any:
        if "notes" in data:
            data = {**data, "remarks": list(data["notes"].values())}
            del data["notes"]
        return data


def test_a_field_that_reads_its_old_name_is_renamed(journal: Path) -> None:
    with reopened(journal, ReadsOldName)[0] as agent:
        assert agent.state.total == 3
        assert agent.run("g").state.total == 3
    with reopened(journal, ReadsOldName)[0] as agent:
        assert agent.state.total == 3


def test_a_validator_may_move_a_value(journal: Path) -> None:
    with reopened(journal, Moves)[0] as agent:
        assert agent.state.remarks == ["b"]


def with_fields(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": fields}


COUNT = {"count": {"type": "integer", "default": 0}}
NOTES = {"notes": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}}}


def test_a_json_schema_may_gain_fields_too(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    with reopened(journal, with_fields(**COUNT), call("finish", {"count": 3}, answer=""))[0] as agent:
        agent.run("g")
    larger = with_fields(**COUNT, **NOTES, rows={"type": "array"})
    larger["required"] = ["rows"]
    for _ in range(2):
        with reopened(journal, larger)[0] as agent:
            assert agent.state == {"count": 3, "notes": {}, "rows": []}
    line = complaint(journal, with_fields(**NOTES, rows={"type": "array"}))
    assert "at /count: is not a field of the state; there is 3" in line
    narrower = with_fields(count={"type": "string", "default": ""}, **NOTES, rows={"type": "array"})
    assert "at /count: must be of type string, not integer; there is 3" in complaint(journal, narrower)


TYPES: dict[str, tuple[Any, Any]] = {
    "whole": (int, 0),
    "text": (str, ""),
    "list": (list[int], []),
    "table": (dict[str, str], {}),
}
VALUES: dict[str, Any] = {
    "whole": st.integers(-9, 9),
    "text": st.text(max_size=3),
    "list": st.lists(st.integers(0, 3), max_size=3),
    "table": st.dictionaries(st.sampled_from("ab"), st.text(max_size=2)),
}
FIELDS = st.dictionaries(st.sampled_from("pqrs"), st.sampled_from(sorted(TYPES)), max_size=4)


def model(fields: dict[str, str]) -> type[BaseModel]:
    parts: dict[str, Any] = {name: TYPES[kind] for name, kind in fields.items()}
    inner = create_model("Inner", **parts)
    return create_model("Whole", **parts, inner=(inner, inner()), inners=(dict[str, inner], {}))  # type: ignore[valid-type]


def values(fields: dict[str, str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: VALUES[kind] for name, kind in fields.items()})


@given(FIELDS, FIELDS, st.data())
def test_any_state_is_kept_whole_or_refused(
    tmp_path_factory: pytest.TempPathFactory, old: dict[str, str], new: dict[str, str], data: Any
) -> None:
    journal = tmp_path_factory.mktemp("any") / "j.jsonl"
    inner = data.draw(values(old))
    patch = {**data.draw(values(old)), "inner": inner, "inners": {"k": data.draw(values(old))}}
    with reopened(journal, model(old), call("finish", patch, answer=""))[0] as agent:
        agent.run("g")
        saved = json.loads(agent.state.model_dump_json())
    if all(new.get(name) == kind for name, kind in old.items()):
        with reopened(journal, model(new))[0] as agent:
            state = json.loads(agent.state.model_dump_json())
        assert not list(missing(saved, state, ()))
    else:
        line = complaint(journal, model(new))
        assert any(f"/{name}: " in line for name in old)


def missing(saved: Any, state: Any, path: FieldPath) -> Any:
    """Places of saved values that a state does not hold."""
    if isinstance(saved, dict):
        for key, value in saved.items():
            yield from missing(value, state.get(key), (*path, key))
    elif not same(saved, state):
        yield path
