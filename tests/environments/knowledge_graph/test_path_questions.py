from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.kg_fidelity import PATHS, gold_paths
from perdure.core.types import Trial
from perdure.environments.knowledge_graph.environment import KnowledgeGraphEnvironment
from perdure.pipelines.knowledge_graph.paths import main, read_path_questions
from tests.environments.knowledge_graph.graphs import DATA

TRIPLES = """\
Ada\tborn_in\tElm (old)
Elm (old)\ton\tAune
Elm (old)\ton\tWend
Bo\tborn_in\tElm (old)
Elm (old)\tborn_in_inverse\tAda
Elm (old)\tborn_in_inverse\tBo
baker\tjob_inverse\tBo
"""
QUESTIONS = """\
which rivers  are where Ada was born ?\tAune(Aune/Wend/)\tAda#born_in#Elm (old)#on#Aune#<end>#Aune
where was Ada born ?\tElm (old)(Elm (old)/)\tAda#born_in#Elm (old)
which baker ?\tBo\tbaker#job_inverse#Bo#<end>#Bo*Elm (old)#born_in_inverse#Bo#<end>#Bo\tBo/\tmore
who was born where Ada was ?\tBo\tAda#born_in#Elm (old)#born_in_inverse#Bo\tAda/Bo/
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "triples.txt").write_text(TRIPLES, "utf-8")
    (tmp_path / "questions.txt").write_text(QUESTIONS, "utf-8")
    return tmp_path / "triples.txt", tmp_path / "questions.txt"


def test_paths_become_tasks(files: tuple[Path, Path]) -> None:
    entries = read_path_questions(files[1])
    assert entries["0"] == {
        "question": "which rivers are where Ada was born ?",
        "qid": "questions-0",
        "source": "questions",
        "entity_dict": {"Ada": "Ada"},
        "s_expression": "(JOIN (R on) (JOIN (R born_in) Ada))",
        "action_list": [
            "get_relations(Ada)",
            "get_neighbors(Ada,born_in)",
            "get_relations(#0)",
            "get_neighbors(#0,on)",
        ],
        "answer_list": ["Aune", "Wend"],
        "skill_list": ["get_neighbors", "get_relations"],
        "keep_topic": True,
    }
    assert entries["1"]["answer_list"] == ["Elm (old)"]
    assert entries["2"]["action_list"][-1] == "intersection(#0,#1)"
    assert entries["3"]["answer_list"] == ["Ada", "Bo"]


def test_they_are_answered_by_the_environment(files: tuple[Path, Path], tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.json"
    assert main([str(files[1]), "--out", str(tasks)]) == 0
    environment = KnowledgeGraphEnvironment(tasks=tasks, graph=files[0])
    for task, entry in json.loads(tasks.read_text("utf-8")).items():
        environment.reset(Trial(task))
        for action in entry["action_list"]:
            assert environment.interact(f"Action: {action}").accepted
        made = sum(not action.startswith("get_relations") for action in entry["action_list"])
        environment.interact(f"Final Answer: #{made - 1}")
        assert environment.complete().reward == 1.0


@pytest.mark.parametrize("line", ["only words", "words\tanswer\tentity", "words\tanswer\ta#<end>#b"])
def test_a_line_that_is_no_question_is_named(
    tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "q.txt"
    path.write_text(f"{QUESTIONS.splitlines()[0]}\n{line}\n", "utf-8")
    with pytest.raises(SystemExit):
        main([str(path), "--out", str(tmp_path / "tasks.json")])
    assert "q.txt, line 2" in capsys.readouterr().err


@pytest.mark.skipif(not (DATA / "licence_unclear").is_dir(), reason="published data is not here")
def test_published_gold_paths_reproduce() -> None:
    tallies = list(gold_paths(DATA))
    assert len(tallies) == len(PATHS)
    for tally in tallies:
        assert tally.reached, str(tally)
