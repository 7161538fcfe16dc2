"""Objects of a structured state whose keys follow a pattern: what is turned round is refused."""

from __future__ import annotations

from pydantic.config import JsonDict


def shown_as_map(schema: JsonDict) -> None:
    """A field's `json_schema_extra`: a pattern for keys as `propertyNames` beside `additionalProperties`.

    Pydantic writes `patternProperties`, which readers of a schema take for an object that may hold anything
    else too.
    """
    patterns = schema.pop("patternProperties", None)
    if isinstance(patterns, dict):
        ((pattern, value),) = patterns.items()
        schema["propertyNames"] = {"pattern": pattern}
        schema["additionalProperties"] = value
