"""Tables on narrow terminals, in Markdown, and with texts that outputs refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.cli.console import fit, narrowed, natural_width, print_tables, printable, transposed
from perdure.reports.markdown import markdown
from perdure.reports.table import Table, make_table

CELLS = st.text(st.characters(codec=None), max_size=30)


@given(CELLS)
def test_printable_text_can_be_encoded_and_stays_on_its_lines(text: str) -> None:
    shown = printable(text)
    shown.encode("utf-8")
    assert shown.count("\n") == text.count("\n")
    assert all(c.isprintable() or c == "\n" for c in shown)


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=30))
def test_printable_leaves_ordinary_text_alone(text: str) -> None:
    assert printable(text) == text


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=4))
def test_markdown_keeps_the_shape_whatever_cells_hold(rows: list[tuple[str, str, str]]) -> None:
    table = make_table("T", {"a": False, "b": True, "c": False}, rows)
    lines = markdown(table).split("\n")
    assert lines[0] == "### T"
    body = lines[2:-1]
    assert len(body) == 2 + len(rows)
    for line in body:
        assert line.replace("\\\\", "").replace("\\|", "").count("|") == 4


@given(st.integers(1, 12), st.integers(0, 6), st.integers(20, 200))
def test_fitting_loses_no_cell(columns: int, rows: int, width: int) -> None:
    header = tuple(f"column {i}" for i in range(columns))
    body = tuple(tuple(f"cell {r} [{i}] / x" for i in range(columns)) for r in range(rows))
    table = Table("T", header, body)
    parts = fit(table, width)
    shown = {" ".join(cell.split()) for part in parts for row in (part.header, *part.rows) for cell in row}
    if rows or columns <= 4 or natural_width(table) <= width:
        assert {*header, *(cell for row in body for cell in row)} <= shown


def test_a_wide_table_gets_cells_of_several_lines_before_it_is_turned() -> None:
    header = ("agent", "success [95%]", "prompt tokens", "completion tokens", "seconds")
    table = Table("T", header, (("local / full_history", "0/3 0.00 [0.00–0.56]", "4,652", "566", "23.3"),))
    assert natural_width(table) > 70 > 60 > natural_width(narrowed(table))
    assert fit(table, 60) == [narrowed(table)]
    assert fit(table, natural_width(table)) == [table]
    assert fit(table, 42) == [transposed(table)]
    assert fit(table, 40) == [transposed(narrowed(table))]


def test_turning_twice_gives_the_table_back() -> None:
    table = Table("T", ("a", "b"), (("1", "2"), ("3", "4")))
    assert transposed(transposed(table)) == table


def test_columns_without_an_entry_are_left_out() -> None:
    table = make_table(
        "T", {"a": False, "b": True, "c": True}, [["x", "–", "1"], ["y", "0", "0"]], drop_empty=True
    )
    assert table.header == ("a", "c")
    assert table.numeric == {1}


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells under a header of 2"):
        Table("T", ("a", "b"), (("1",),))


def test_a_table_that_does_not_turn_goes_in_parts_that_fit() -> None:
    header = ("skill", *"ABCDEFGH")
    rows = tuple((f"skill {i}", *["7/20 0.35"] * 8) for i in range(3))
    parts = fit(Table("T", header, rows, turns=False), 40)
    assert [part.header for part in parts] == [("skill", *pair) for pair in ("AB", "CD", "EF", "GH")]
    assert all(natural_width(part) <= 40 and len(part.rows) == 3 for part in parts)


def test_a_long_title_is_not_folded_and_no_line_ends_in_blanks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    title = "a title of many words that is longer than its table"
    print_tables([Table(title, ("a", "b"), (("1", "x"), ("2", "longer")))])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == title
    assert lines[-1] == ""
    assert all(line == line.rstrip() for line in lines)
