"""The OpenAPI description of the routes, made from their table and the types they name."""

from __future__ import annotations

from typing import Any

import msgspec

import tailrace
from tailrace.server.people.principals import Who
from tailrace.server.web.routes import HASH, MOST_KEY, Route

REF = "#/components/schemas/{name}"
CAUSES = {
    "400": "what was sent cannot be used",
    "401": "wrong or missing token",
    "403": "not for a token of this kind",
    "404": "not there, or another user's",
    "413": "the body is too large",
    "422": "the Idempotency-Key was used before, for something else; of a work call: what its "
    "owner says of the tasks it takes cannot be read",
    "507": "no room on the server's disk",
    "503": "too many calls, or nothing can be committed just now: ask again",
}


class Error(msgspec.Struct, frozen=True):
    error: str


def description(routes: tuple[Route, ...]) -> dict[str, Any]:
    told = (kind for route in routes for kind in (route.gives, route.takes, route.clash))
    kinds = [kind for kind in told if kind is not None]
    schemas, components = msgspec.json.schema_components([*kinds, Error], ref_template=REF)
    of = dict(zip(map(repr, [*kinds, Error]), schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, of)
    return {
        "openapi": "3.1.0",
        "info": {"title": "tailrace", "version": tailrace.__version__},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route, of: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": route.summary,
        "parameters": [*_path(route), *_query(route), *_key(route)],
        "responses": {"200": _answer(route, of), **_refusals(route, of)},
    }
    if route.who is not Who.ANYONE:
        found["security"] = [{"token": []}]
        found["description"] = f"For {', '.join(kind.value for kind in route.who.value)}."
    content = {}
    if route.raw:
        content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    elif route.takes is not None:
        content = {"application/json": {"schema": of[repr(route.takes)]}}
    if content:
        found["requestBody"] = {"required": True, "content": content}
    return found


def _answer(route: Route, of: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "string"} if route.gives is None else of[repr(route.gives)]
    return {"description": "as asked", "content": {route.kind: {"schema": schema}}}


def _refusals(route: Route, of: dict[str, Any]) -> dict[str, Any]:
    found = {status: _refusal(why, of[repr(Error)]) for status, why in CAUSES.items()}
    if route.clash is not None:
        found["409"] = _refusal("the caller speaks another protocol", of[repr(route.clash)])
    return found


def _refusal(why: str, schema: Any) -> dict[str, Any]:
    return {"description": why, "content": {"application/json": {"schema": schema}}}


def _path(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": step[1:-1], "in": "path", "required": True, "schema": _step(step)}
        for step in route.steps
        if step.startswith("{")
    ]


def _key(route: Route) -> list[dict[str, Any]]:
    schema = {"type": "string", "minLength": 1, "maxLength": MOST_KEY, "pattern": "^[ -~]*$"}
    named = {"name": "Idempotency-Key", "in": "header", "required": False, "schema": schema}
    return [named] if route.keyed else []


def _step(step: str) -> dict[str, Any]:
    if step == HASH:
        return {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    return {"type": "integer", "minimum": 0, "maximum": 10**15 - 1}


def _query(route: Route) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    (_,), components = msgspec.json.schema_components([route.query], ref_template=REF)
    schema = components[route.query.__name__]
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "schema": _whole(one, components),
        }
        for name, one in schema["properties"].items()
    ]


def _whole(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """What a query names is described where it is, not among the components."""
    name = schema.get("$ref", "").rpartition("/")[2]
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**components[name], **rest} if name else schema
