"""Which frames of a bug are shown."""

from __future__ import annotations

import json
import traceback

import pytest

from perdure.cli.short_traceback import cut, print_bug


def mistake() -> None:
    json.loads("{")


def test_frames_of_the_standard_library_go_and_ours_stay() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        mistake()
    shown = [frame.name for frame in traceback.extract_tb(cut(caught.value.__traceback__))]
    assert shown[-1] == "mistake"
    assert "raw_decode" not in shown


def test_a_traceback_of_nothing_else_is_kept_whole() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        mistake()
    trace = caught.value.__traceback__
    while trace is not None and trace.tb_frame.f_globals["__name__"] != "json":
        trace = trace.tb_next
    assert trace is not None
    assert cut(trace) is trace
    assert cut(None) is None


def test_every_exception_of_a_chain_is_cut_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        try:
            mistake()
        except ValueError as error:
            raise RuntimeError("second") from error
    except RuntimeError as second:
        print_bug(RuntimeError, second, second.__traceback__)
    shown = capsys.readouterr().err
    assert "JSONDecodeError" in shown
    assert "RuntimeError: second" in shown
    assert "raw_decode" not in shown
    assert "in mistake" in shown
