"""AgentBench's dbbench tasks (arXiv 2308.03688) in the published schema of LifelongAgentBench."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping
from typing import Any


def is_agentbench(entry: object) -> bool:
    """An entry as AgentBench writes it: a description, labels and a table of texts."""
    return isinstance(entry, dict) and {"description", "label", "table"} <= entry.keys()


def published_entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The same task in the other schema. Raises KeyError, TypeError, ValueError or SyntaxError.

    Every column is TEXT, whatever its declared type: the original creates them so, and its hashes depend on
    it. Answers are texts there, also of counts and sums, so that they compare loosely.
    """
    labels, table = entry["label"], entry["table"]
    if not isinstance(labels, list) or not labels:
        raise TypeError("label must be a list that is not empty")
    hashed = entry.get("answer_md5")
    answer: dict[str, Any]
    if hashed is not None:
        answer = {"direct": None, "md5": literal_eval(hashed)[0][0], "sql": labels[0]}
    else:
        answer = {"direct": [[label] for label in labels], "md5": None, "sql": entry["sql"]["query"]}
    info = table["table_info"]
    return {
        "instruction": entry["description"],
        "answer_info": answer,
        "table_info": {
            "name": table["table_name"],
            "column_info_list": [{"name": c["name"], "type": "TEXT"} for c in info["columns"]],
            "row_list": info["rows"],
        },
        "skill_list": [str(kind).lower() for kind in entry.get("type") or []],
        "loose_answer": True,
    }
