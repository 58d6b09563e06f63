"""`/v1/audio/speech` and `/v1/audio/transcriptions`: text to speech, speech to text."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import PurePath

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from inference.alignment import Word, align_words
from inference.media import SAMPLE_RATE, load_audio
from inference.sentences import split_sentences
from serving.encoding import CONTENT_TYPES, encoder
from serving.errors import ApiError, not_found
from serving.media import Media, files_of
from serving.schema import SpeechBody
from serving.service import MODEL, Service, Speech, can_be_said, listed
from serving.streaming import Streamed, unless_gone

FORMATS = ("json", "text", "verbose_json")
GRANULARITIES = {"word", "segment"}
KNOWN = {  # fields of a transcription's form
    *("file", "model", "response_format", "language", "prompt", "temperature", "stream"),
    *("timestamp_granularities[]", "timestamp_granularities"),
}


async def speech(service: Service, body: SpeechBody, request: Request) -> Streamed:
    """The text as sound, sent while it is made."""
    if not service.hears:
        raise ApiError("this checkpoint is text alone: it does not speak", param="model")
    sentences = split_sentences(body.input)
    if not any(map(can_be_said, sentences)):
        raise ApiError(
            "there is nothing to say: give words, numbers or symbols", code="invalid_value",
            param="input",
        )
    async with AsyncExitStack() as stack:
        stack.enter_context(service.place())
        how = await service.speech(body.voice, body.speed)
        chunks = encoded(service, sentences, how, body.response_format)
        first = await unless_gone(request, anext(chunks))  # its errors still have a status
        kind = CONTENT_TYPES[body.response_format]
        return Streamed(after(first, chunks), kind, stack.pop_all(), service.metrics)


async def encoded(
    service: Service, sentences: list[str], how: Speech, form: str
) -> AsyncIterator[bytes]:
    """Bytes of a format as they are made."""
    made = encoder(form)
    async for chunk in service.speak(listed(sentences), how):
        service.metrics.audio_seconds.inc(len(chunk) / SAMPLE_RATE)
        yield made.push(chunk)
    yield made.finish()


async def after(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


async def transcription(service: Service, request: Request):
    """The words of an uploaded recording."""
    form = await request.form(max_files=1, max_fields=20, max_part_size=64 * 1024)
    check_form(service, form)
    file = form["file"]
    suffix = PurePath(file.filename or "").suffix.lstrip(".").lower()
    media = Media("audio", await file.read(), suffix)
    kind = form.get("response_format", "json")
    timed = kind == "verbose_json"

    def work() -> tuple[str, float, list[Word]]:
        with files_of([media]) as paths:
            (path,) = paths["audio"]
            text = service.omni.transcribe(path)
            samples = load_audio(path)
            words = align_words(service.omni, samples, text) if timed else []
            return text, len(samples) / SAMPLE_RATE, words

    with service.place():
        text, seconds, words = await unless_gone(request, service.work("compute", work))
    if kind == "text":
        return PlainTextResponse(text + "\n")
    usage = {"type": "duration", "seconds": round(seconds, 3)}
    if not timed:
        return {"text": text, "usage": usage}
    return verbose(text, seconds, words, granularities(form)) | {"usage": usage}


def check_form(service: Service, form) -> None:
    """Refuse what a transcription cannot be made of."""
    if unknown := set(form) - KNOWN:
        raise ApiError(f"the parameter {sorted(unknown)[0][:80]!r} is unknown")
    if not isinstance(form.get("file"), UploadFile):
        raise ApiError("file is missing: upload a recording as multipart/form-data", param="file")
    if form.get("model", MODEL) != MODEL:
        raise not_found(str(form["model"]))
    if not service.hears:
        raise ApiError("this checkpoint is text alone: it does not hear", param="model")
    if form.get("response_format", "json") not in FORMATS:
        raise ApiError(f"response_format must be {', '.join(FORMATS)}", param="response_format")
    if form.get("language") not in (None, "", "en", "english"):
        raise ApiError("this model hears English only: language must be en", param="language")
    if form.get("stream") not in (None, "", "false"):
        raise ApiError("a transcription is not streamed: leave out stream", param="stream")
    granularities(form)


def granularities(form) -> set[str]:
    """What is timed: words, segments."""
    names = ("timestamp_granularities[]", "timestamp_granularities")
    asked = {one for name in names for one in form.getlist(name)}
    if not asked <= GRANULARITIES:
        raise ApiError(
            "timestamp_granularities must be word or segment", param="timestamp_granularities"
        )
    return asked or {"segment"}


def verbose(text: str, seconds: float, words: list[Word], asked: set[str]) -> dict:
    """The transcript with times in seconds."""
    start = words[0].start if words else 0.0
    end = words[-1].end if words else 0.0
    segment = {"id": 0, "start": start, "end": end, "text": text}
    whole = {"task": "transcribe", "language": "english", "duration": seconds, "text": text}
    if "segment" in asked:
        whole["segments"] = [segment] if text else []
    if "word" in asked:
        whole["words"] = [
            {"word": one.text, "start": one.start, "end": one.end} for one in words
        ]
    return whole
