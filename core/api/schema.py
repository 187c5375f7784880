"""What the schema says of every operation alike."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from core.api.base import ApiView
from core.api.once import HEADER

PROBLEMS = "Problems"
FAULTS = {
    "400": "The request cannot be read.",
    "401": "No token or session, or one that opens nothing.",
    "403": "The role, or the scopes of the token, do not allow this.",
    "404": "Nothing here, or nothing in a project of yours.",
    "405": "Not a method of this address.",
    "409": "The answer is no: the state of things, or a rule, forbids it.",
    "413": "The body is above the limit.",
    "415": "Not a kind of body that is read here.",
    "422": "The input is wrong: where, what was found, and what is allowed.",
    "429": "Too many requests; `Retry-After` says when to go on.",
}
ERRORS: dict[str, Any] = {
    "type": "object",
    "required": ["errors"],
    "properties": {
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["what"],
                "properties": {
                    "what": {"type": "string"},
                    "file": {"type": "string"},
                    "row": {"type": "integer"},
                    "column": {"type": "string"},
                    "key": {"type": "string", "description": "which part of the request, or of a manifest"},
                    "value": {"type": "string", "description": "what was found"},
                    "allowed": {"type": "string", "description": "what would have been accepted"},
                },
            },
        }
    },
}
EXAMPLE = {"errors": [{"what": "not a kind", "key": "kind", "value": "x", "allowed": "intended, repair"}]}
KEY_PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "A text of your own. The same request with it again, within a day, is done once and answered alike.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    "example": "nightly-2026-11-30",
}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "core.api.base.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "A project's token, made by its owner."}


class Schema(AutoSchema):
    """Adds what every operation of ours has: its scopes, its errors, and a key for writes."""

    def get_description(self) -> str:
        """What a view's own decorator says stands instead; docstrings are for who reads the code."""
        return ""

    def get_tags(self) -> list[str]:
        """By what stands behind the project in the address."""
        return [(*self.path.split("{project}/", 1), "project")[1].partition("/")[0]]

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        said = operation.get("description", "")
        operation["description"] = f"{said}\n\n{self._who()}".strip()
        for status in FAULTS:
            operation["responses"].setdefault(status, {"$ref": f"#/components/responses/{status}"})
        if getattr(getattr(self.view, self.method.lower(), None), "once", False):
            operation.setdefault("parameters", []).append(KEY_PARAMETER)
        return operation

    def _who(self) -> str:
        view: ApiView = self.view
        scopes = view.reads if self.method == "GET" else view.writes
        roles = ", ".join(role.value for role in view.roles)
        return f"Roles: {roles}. Token scope: {' or '.join(scope.value for scope in scopes)}."


def with_problems(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """A postprocessing hook: the shape of errors, and that nothing unknown is taken."""
    schemas = result["components"].setdefault("schemas", {})
    schemas[PROBLEMS] = ERRORS
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{PROBLEMS}"}, "example": EXAMPLE}}
    result["components"]["responses"] = {
        status: {"description": words, "content": content} for status, words in FAULTS.items()
    }
    for name, schema in schemas.items():
        if name.endswith(("Given", "GivenRequest")):
            schema["additionalProperties"] = False
    return result
