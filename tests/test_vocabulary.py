"""Names in the source mean one thing, and do what they say."""

from __future__ import annotations

import ast
import re

from tests.test_architecture import SOURCE, modules, top, tree

QUESTION = re.compile(r"^_?(is|has|can|may|should|needs|holds|was|does|contains|breaks|lacks)_")
"""How the name of a function begins that only answers: it changes nothing that it was given."""


def changes_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Assignments to attributes and items, in a function."""
    found: list[ast.expr] = []
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                found += targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                found.append(target)
    return [
        ast.unparse(part)
        for target in found
        for part in ast.walk(target)
        if isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store | ast.Del)
    ]


def test_functions_that_are_named_as_questions_only_answer() -> None:
    wrong = [
        f"{name}:{node.lineno} {node.name} changes {changes}"
        for name in modules()
        for node in ast.walk(tree(name))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and QUESTION.match(node.name)
        and (changes := changes_of(node))
    ]
    assert wrong == []


def test_one_word_means_one_thing() -> None:
    """`settle` commits or discards what a state was offered; a `Journal` is that of a state."""
    homes = {
        (word, top(name))
        for name in modules()
        for node in ast.walk(tree(name))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for word in ("settle", "Journal")
        if word in node.name
    }
    assert homes == {("settle", "state"), ("Journal", "state")}
    definitions = [
        node.name
        for name in modules()
        for node in ast.walk(tree(name))
        if isinstance(node, ast.FunctionDef) and "settle" in node.name
    ]
    assert definitions == ["settle"]


def test_nobody_is_shown_a_star_import() -> None:
    """Tutorials, examples, templates: what a plug-in needs is named."""
    root = SOURCE.parents[1]
    shown = [root / "README.md", *(root / "docs").rglob("*.md"), *(root / "examples").rglob("*.py")]
    shown += [path for path in SOURCE.rglob("*") if path.is_file() and "templates" in path.parts]
    assert len(shown) > 20
    found = [str(path) for path in shown if re.search(r"import +\*", path.read_text("utf-8", "replace"))]
    assert found == []
