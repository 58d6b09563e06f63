"""Bodies of requests, with the fields and limits of OpenAI's API.

A field that would change the answer and is not supported is refused; one that cannot change it
(`user`, `metadata`, …) is ignored.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from models.fields import LARGEST
from serving.errors import invalid

MAX_TEXT = 1_000_000  # characters of one text
MAX_MESSAGES = 2048
MAX_PARTS = 32
FIRST = {"fail_fast": True}  # one wrong item is told of: a million would hold up everybody
HARMLESS = frozenset({
    *("user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"),
    *("prompt_cache_options", "prompt_cache_retention"),
    *("parallel_tool_calls", "prediction", "reasoning_effort", "verbosity"),
})
OFF = {  # allowed at the value that means "off"
    "frequency_penalty": (0, None),
    "presence_penalty": (0, None),
    "logit_bias": ({}, None),
    "tools": ([], None),
    "functions": ([], None),
    "tool_choice": ("none", "auto", None),
    "function_call": ("none", "auto", None),
    "response_format": ({"type": "text"}, None),
}

Text = Annotated[str, Field(max_length=MAX_TEXT)]
Stop = Annotated[str, Field(min_length=1)]


def refused(param: str, message: str) -> PydanticCustomError:
    """The error of a whole body that is one field's; see `errors.invalid`."""
    return PydanticCustomError("refused", "{message}", {"message": message, "param": param[:80]})


def checked(kind: type[BaseModel], values: Any, *under: str) -> BaseModel:
    """Values as a model; what is wrong with them is the client's error."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise invalid(error.errors(), *under) from None


class Body(BaseModel):
    """A request's body; unknown fields are refused by name."""

    model_config = ConfigDict(extra="allow")

    @model_validator(mode="after")
    def _refuse_unknown(self) -> "Body":
        for name, value in (self.model_extra or {}).items():
            if name in HARMLESS or (name in OFF and value in OFF[name]):
                continue
            what = "is not supported here" if name in OFF else "is unknown"
            raise refused(name, f"the parameter {name[:80]!r} {what}")
        return self


class VoiceId(BaseModel):
    id: str


Voice = str | VoiceId


class Part(BaseModel):
    """A part of a message's content; which field it has goes by its type."""

    type: str
    text: Text | None = None
    image_url: dict[str, Any] | str | None = None
    video_url: dict[str, Any] | str | None = None
    input_audio: dict[str, Any] | None = None
    refusal: str | None = None


class MessageAudio(BaseModel):
    id: str = Field(max_length=80)


class Message(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: Text | Annotated[list[Part], Field(max_length=MAX_PARTS, **FIRST)] | None = None
    audio: MessageAudio | None = None  # a spoken answer, by the id it came with
    refusal: Text | None = None
    tool_calls: Annotated[list, Field(max_length=0)] | None = None
    function_call: None = None


class AudioOut(BaseModel):
    voice: Voice | None = None
    format: Literal["wav", "aac", "flac", "mp3", "opus", "pcm16", "pcm"] = "wav"
    speed: float = Field(1.0, allow_inf_nan=False)


class StreamOptions(BaseModel):
    include_usage: bool = False
    include_obfuscation: bool = False


class ChatBody(Body):
    """`POST /v1/chat/completions`. `top_k`, `min_p`, `repetition_penalty`, `think`: as vLLM's extras."""

    model: str = "muomni"
    messages: list[Message] = Field(min_length=1, max_length=MAX_MESSAGES, **FIRST)
    modalities: list[Literal["text", "audio"]] | None = Field(None, max_length=2, **FIRST)
    audio: AudioOut | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    max_completion_tokens: int | None = Field(None, ge=1, le=LARGEST)
    max_tokens: int | None = Field(None, ge=1, le=LARGEST)
    temperature: float | None = Field(None, ge=0, le=2, allow_inf_nan=False)
    top_p: float | None = Field(None, ge=0, le=1)
    top_k: int | None = Field(None, ge=0, le=LARGEST)
    min_p: float | None = Field(None, ge=0, le=1)
    repetition_penalty: float | None = Field(None, gt=0, le=10)
    stop: Stop | Annotated[list[Stop], Field(max_length=4)] | None = None
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    n: int | None = Field(1, ge=1, le=8)
    logprobs: bool | None = False
    top_logprobs: int | None = Field(None, ge=0, le=20)
    think: bool = True

    @model_validator(mode="after")
    def _check(self) -> "ChatBody":
        if self.top_logprobs is not None and not self.logprobs:
            raise refused("top_logprobs", "top_logprobs needs logprobs: true")
        if self.stream_options is not None and not self.stream:
            raise refused("stream_options", "stream_options needs stream: true")
        return self

    @property
    def speaks(self) -> bool:
        return "audio" in (self.modalities or ())

    def settings(self) -> dict:
        """Fields of GenerateConfig; what was left out keeps the model's default (greedy)."""
        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        given = {
            "max_new_tokens": self.max_completion_tokens or self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p or None,
            "top_k": 1 if self.top_p == 0 else self.top_k,  # 0: the likeliest token alone
            "min_p": self.min_p,
            "repetition_penalty": self.repetition_penalty,
            "seed": None if self.seed is None else self.seed % 2**63,
            "stop_strings": tuple(stop),
            "think": self.think,
        }
        return {name: value for name, value in given.items() if value is not None}


class TranscriptionBody(Body):
    """The form of `POST /v1/audio/transcriptions`, but for its file."""

    model: str = "muomni"
    response_format: Literal["json", "text", "srt", "verbose_json", "vtt"] = "json"
    language: Literal["en", "english"] = "en"  # this model hears no other
    prompt: str = ""  # this and the temperature change nothing: the likeliest words are searched for
    temperature: float = Field(0.0, ge=0, le=1)
    stream: Literal["false"] = "false"
    timestamp_granularities: list[Literal["word", "segment"]] = []

    @model_validator(mode="after")
    def _check(self) -> "TranscriptionBody":
        if self.timestamp_granularities and self.response_format != "verbose_json":
            raise refused("timestamp_granularities", "timestamp_granularities need verbose_json")
        return self


class SpeechBody(Body):
    """`POST /v1/audio/speech`."""

    model: str = "muomni"
    input: str = Field(min_length=1, max_length=4096)
    voice: Voice | None = None
    response_format: Literal["wav", "aac", "flac", "mp3", "opus", "pcm"] = "mp3"
    speed: float = Field(1.0, allow_inf_nan=False)
    stream_format: Literal["audio"] = "audio"
    instructions: str | None = None  # how to say it: this model has no such control
