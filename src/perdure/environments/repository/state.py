"""The structured state of the repository: what SKILL.state's Σ looks like here."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from perdure.environments.skillexec.state_names import shown_as_map

Branch: TypeAlias = Annotated[str, StringConstraints(pattern="^(main|topic_[0-9]{1,6})$")]
CommitId: TypeAlias = Annotated[str, StringConstraints(pattern="^c_[0-9a-f]{1,8}$")]
PullNumber: TypeAlias = Annotated[str, StringConstraints(pattern="^pr_[0-9]{1,6}$")]
# What is not known is an empty text.
KnownBranch: TypeAlias = Annotated[str, StringConstraints(pattern="^(main|topic_[0-9]{1,6})?$")]
KnownCommit: TypeAlias = Annotated[str, StringConstraints(pattern="^(c_[0-9a-f]{1,8})?$")]
KnownFile: TypeAlias = Annotated[str, StringConstraints(pattern="^(file_[0-9]{1,6})?$")]
KnownIssue: TypeAlias = Annotated[str, StringConstraints(pattern="^(issue_[0-9]{1,6})?$")]
KnownTag: TypeAlias = Annotated[str, StringConstraints(pattern="^(v_[0-9]{1,6})?$")]


class CommitState(BaseModel):
    """A commit."""

    model_config = ConfigDict(extra="forbid")

    parent: KnownCommit = ""
    file: KnownFile = ""
    issue: KnownIssue = ""


class PullState(BaseModel):
    """A pull request."""

    model_config = ConfigDict(extra="forbid")

    branch: KnownBranch = ""
    base: str = "main"
    state: Literal["open", "closed"] = "open"
    approved: int = Field(0, description="place in the order of approvals, 0 before it has one")


class CheckState(BaseModel):
    """The last test result of a branch."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["passed", "failed"] = "failed"
    tested_head: KnownCommit = ""
    tested_base: KnownCommit = ""


class ReleaseState(BaseModel):
    """A release."""

    model_config = ConfigDict(extra="forbid")

    tag: KnownTag = ""
    commit: KnownCommit = ""
    good: bool = True


class RepositoryState(BaseModel):
    """Branches, commits, pull requests, test results and releases."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"prs": {"pr_12": {"branch": "topic_3", "approved": 1}}}]},
    )

    branches: dict[Branch, CommitId] = Field(
        default_factory=dict,
        description="branch → head commit; branches that are not merged",
        json_schema_extra=shown_as_map,
    )
    commits: dict[CommitId, CommitState] = Field(
        default_factory=dict,
        description="commit → what it is; those of branches, and of merged ones those that may be asked for",
        json_schema_extra=shown_as_map,
    )
    prs: dict[PullNumber, PullState] = Field(
        default_factory=dict,
        description="pull request → what it is; those that are not merged",
        json_schema_extra=shown_as_map,
    )
    ci: dict[Branch, CheckState] = Field(
        default_factory=dict,
        description="branch → its last test result",
        json_schema_extra=shown_as_map,
    )
    releases: list[ReleaseState] = Field(default_factory=list, description="the last releases, oldest first")
