"""Errors in OpenAI's shape: {"error": {"message", "type", "param", "code"}} with an HTTP status."""

import re

TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}

KIND = re.compile(r"body|(constrained-)?(str|int)|VoiceId|\w+\[.*\]")  # in a place, yet no field's name


class ApiError(Exception):
    """What a client did wrong, or cannot have now.

    Args:
        message: one line, what is wrong and what to do.
        status: HTTP status.
        code: machine-readable, as OpenAI names them where it has a name.
        param: the field of the request at fault.
    """

    def __init__(
        self, message: str, status: int = 400, code: str | None = None, param: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.status, self.code, self.param = message, status, code, param

    @property
    def kind(self) -> str:
        """OpenAI's error type."""
        if self.status >= 500:
            return "server_error"
        return TYPES.get(self.status, "invalid_request_error")

    def body(self) -> dict:
        """The JSON that goes to the client."""
        return {
            "error": {
                "message": self.message, "type": self.kind, "param": self.param, "code": self.code,
            }
        }

    def headers(self) -> dict[str, str]:
        """When to come again, and how to log in."""
        more = {429: {"Retry-After": "1"}, 401: {"WWW-Authenticate": "Bearer"}}
        return more.get(self.status, {})


def not_found(model: str) -> ApiError:
    """A model that is not served."""
    return ApiError(
        f"The model {model[:80]!r} does not exist: use 'muomni'", 404, "model_not_found", "model"
    )


def not_json() -> ApiError:
    """A body that cannot be parsed."""
    return ApiError("the body is not valid JSON", code="invalid_json")


def invalid(errors: list[dict], *under: str) -> ApiError:
    """The most telling of pydantic's errors: of what may be a text or a list, that of what was given.

    Args:
        under: fields that the values are within.
    """
    told = max(errors, key=lambda one: (len(one["loc"]), not one["type"].endswith("_type")))
    places = [*under, *(str(part) for part in told["loc"] if not KIND.fullmatch(str(part)))]
    where = f"{'.'.join(places)}: " if places else ""
    param = ".".join(places) or told.get("ctx", {}).get("param")
    message = told["msg"].removeprefix("Value error, ")
    return ApiError(f"{where}{message}"[:500], code="invalid_value", param=param)
