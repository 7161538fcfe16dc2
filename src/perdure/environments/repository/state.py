"""The structured state of the repository: what SKILL.state's Σ looks like here."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class CommitState(BaseModel):
    """A commit."""

    model_config = ConfigDict(extra="forbid")

    parent: str = ""
    file: str = ""
    issue: str = ""


class PullState(BaseModel):
    """A pull request."""

    model_config = ConfigDict(extra="forbid")

    branch: str = ""
    base: str = "main"
    state: Literal["open", "merged", "closed"] = "open"
    approved: int = Field(0, description="place in the order of approvals, 0 before it has one")


class CheckState(BaseModel):
    """The last test result of a branch."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["passed", "failed"] = "failed"
    tested_head: str = ""
    tested_base: str = ""


class ReleaseState(BaseModel):
    """A release."""

    model_config = ConfigDict(extra="forbid")

    tag: str = ""
    commit: str = ""
    good: bool = True


class RepositoryState(BaseModel):
    """Branches, commits, pull requests, test results and releases."""

    model_config = ConfigDict(extra="forbid")

    branches: dict[str, str] = Field(default_factory=dict, description="branch → head commit")
    commits: dict[str, CommitState] = Field(default_factory=dict, description="commit id → what it is")
    prs: dict[str, PullState] = Field(default_factory=dict, description="pull request → what it is")
    ci: dict[str, CheckState] = Field(default_factory=dict, description="branch → its last test result")
    releases: list[ReleaseState] = Field(default_factory=list, description="releases, oldest first")
