"""Events of a realtime client; settings of its session: what they are at first, and `session.update`."""

import copy
import json
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from serving.encoding import WIRE_RATE
from serving.errors import ApiError
from serving.guard import MAX_VALUES
from serving.schema import Voice, checked

OURS = ("id", "object")  # of a session that the server showed, which a client may send back
MAX_FIELDS = 64  # of an object: each unknown one would be told of, a million hold up everybody

Modalities = Annotated[list[Literal["text", "audio"]], Field(min_length=1, max_length=1)]
Instructions = Annotated[str, Field(max_length=100_000)]
MaxTokens = Annotated[int, Field(ge=1, le=4096)] | Literal["inf"]
NoTools = Annotated[list, Field(max_length=0)]
ToolChoice = Literal["auto", "none"]
Speed = Annotated[float, Field(allow_inf_nan=False)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _check_size(cls, values: Any) -> Any:
        if isinstance(values, dict) and len(values) > MAX_FIELDS:
            raise ValueError(f"an object may have {MAX_FIELDS} fields")
        return values


class Format(Strict):
    type: Literal["audio/pcm"] = "audio/pcm"
    rate: Literal[24_000] = WIRE_RATE


class TurnDetection(Strict):
    type: Literal["server_vad"] = "server_vad"
    threshold: float = Field(0.5, ge=0.05, le=0.95)
    prefix_padding_ms: int = Field(300, ge=0, le=2000)
    silence_duration_ms: int = Field(300, ge=100, le=5000)
    create_response: bool = True
    interrupt_response: bool = True
    idle_timeout_ms: None = None


class Transcription(Strict):
    model: str = "muomni"
    language: Literal["en"] | None = None
    prompt: str | None = None


class Input(Strict):
    format: Format = Field(default_factory=Format)
    transcription: Transcription | None = Field(default_factory=Transcription)
    turn_detection: TurnDetection | None = Field(default_factory=TurnDetection)
    noise_reduction: None = None


class Output(Strict):
    format: Format = Field(default_factory=Format)
    voice: Voice = ""
    speed: Speed = 1.0


class Audio(Strict):
    input: Input = Field(default_factory=Input)
    output: Output = Field(default_factory=Output)


class Session(Strict):
    """What a client may set; tools and tracing can only be declined, prompts of OpenAI's are not here."""

    type: Literal["realtime"] = "realtime"
    model: Literal["muomni"] = "muomni"
    output_modalities: Modalities = ["audio"]
    instructions: Instructions = ""
    max_output_tokens: MaxTokens = 128
    audio: Audio = Field(default_factory=Audio)
    tools: NoTools = []
    tool_choice: ToolChoice = "auto"
    tracing: None = None


class ResponseOutput(Strict):
    voice: Voice | None = None
    format: Format | None = None


class ResponseAudio(Strict):
    output: ResponseOutput = Field(default_factory=ResponseOutput)


class ResponseSettings(Strict):
    """What `response.create` may set for one answer."""

    output_modalities: Modalities | None = None
    instructions: Instructions | None = None
    max_output_tokens: MaxTokens | None = None
    audio: ResponseAudio | None = None
    conversation: Literal["auto"] | None = None
    metadata: dict[str, Any] | None = None
    tools: NoTools = []
    tool_choice: ToolChoice = "auto"


def parse_event(message: dict) -> dict:
    """A frame as an event."""
    if message.get("text") is None:
        raise ApiError("events are JSON in text frames", code="invalid_event")
    if message["text"].count(",") > MAX_VALUES:
        raise ApiError(f"an event may have {MAX_VALUES} values", code="invalid_event")
    try:
        event = json.loads(message["text"], parse_constant=finite, parse_float=finite)
    except (ValueError, RecursionError):
        raise ApiError("the event is not valid JSON", code="invalid_event") from None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise ApiError("an event is an object with a type", code="invalid_event")
    return event


def finite(text: str) -> float:
    """A number of JSON; NaN and 1e999 are none, and a client could not read them in a reply."""
    if not isfinite(value := float(text)):
        raise ValueError(text)
    return value


def updated(session: Session, values: Any) -> Session:
    """The session with the given fields changed; those left out stay."""
    if not isinstance(values, dict):
        raise ApiError("session must be an object", code="invalid_value", param="session")
    given = {name: value for name, value in values.items() if name not in OURS}
    return checked(Session, merged(session.model_dump(), given), "session")


def merged(old: dict, new: dict) -> dict:
    """`new` laid over `old`, within objects too."""
    result = copy.copy(old)
    for name, value in new.items():
        both = isinstance(value, dict) and isinstance(old.get(name), dict)
        result[name] = merged(old[name], value) if both else value
    return result
