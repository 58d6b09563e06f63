"""`/v1/audio/speech` and `/v1/audio/transcriptions`: text to speech, speech to text."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import PurePath
from zlib import compress

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from inference.media import SAMPLE_RATE
from inference.normalisation import can_say
from inference.sentences import split_sentences
from inference.subtitles import FORMATS, Segment, as_dict
from serving.encoding import CONTENT_TYPES, encoder
from serving.errors import ApiError, not_found
from serving.media import Media, files_of
from serving.schema import SpeechBody, TranscriptionBody, checked
from serving.service import MODEL, Service, Speech
from serving.streaming import Streamed, unless_gone, while_wanted


async def speech(service: Service, body: SpeechBody, request: Request) -> Streamed:
    """The text as sound, sent while it is made."""
    if not service.hears:
        raise ApiError("this checkpoint is text alone: it does not speak", param="model")
    sentences = split_sentences(body.input)
    if not any(map(can_say, sentences)):
        raise ApiError(
            "there is nothing to say: give words in Latin letters, numbers or symbols", code="invalid_value",
            param="input",
        )
    with ExitStack() as stack:
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
    for sentence in sentences:
        async for chunk in service.speak(sentence, how):
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
    body = read_form(service, form)
    file = form["file"]
    suffix = PurePath(file.filename or "").suffix.lstrip(".").lower()
    media = Media("audio", await file.read(), suffix, "file")
    timed = body.response_format == "verbose_json"

    with service.place(), while_wanted() as check:

        def work() -> tuple[list[Segment], float]:
            seconds = [0.0]

            def progress(done: float, _: float) -> None:
                check()
                seconds.append(done)

            with files_of([media]) as files:
                (path,) = files.paths["audio"]
                return list(service.omni.segments(path, progress, word_times=timed)), seconds[-1]

        segments, seconds = await unless_gone(request, service.work("upload", work))
    text = " ".join(segment.text for segment in segments)
    if body.response_format == "text":
        return PlainTextResponse(text + "\n")
    if body.response_format in ("srt", "vtt"):
        return PlainTextResponse(FORMATS[f".{body.response_format}"](segments))
    usage = {"type": "duration", "seconds": round(seconds, 3)}
    if not timed:
        return {"text": text, "usage": usage}
    asked, tokenizer = body.timestamp_granularities, service.omni.tokenizer
    return verbose(text, seconds, segments, asked, tokenizer) | {"usage": usage}


def read_form(service: Service, form) -> TranscriptionBody:
    """What is asked for; refuses what a transcription cannot be made of."""
    if not isinstance(form.get("file"), UploadFile):
        raise ApiError("file is missing: upload a recording as multipart/form-data", param="file")
    lists = ("timestamp_granularities[]", "timestamp_granularities")
    values = {name: value for name, value in form.items() if value and name not in ("file", *lists)}
    timed = [one for name in lists for one in form.getlist(name)]
    body = checked(TranscriptionBody, values | {lists[1]: timed})
    if body.model != MODEL:
        raise not_found(body.model)
    if not service.hears:
        raise ApiError("this checkpoint is text alone: it does not hear", param="model")
    return body


def verbose(text: str, seconds: float, segments: list[Segment], asked: list[str], tokenizer) -> dict:
    """The transcript with times in seconds."""
    whole = {"task": "transcribe", "language": "english", "duration": seconds, "text": text}
    if "word" in asked:
        whole["words"] = [word for one in segments for word in as_dict(one).get("words", [])]
    if "segment" in asked or not asked:
        whole["segments"] = [{"id": i} | shown(one, tokenizer) for i, one in enumerate(segments)]
    return whole


def shown(segment: Segment, tokenizer) -> dict:
    """A segment in Whisper's fields; no no_speech_prob: voice activity says yes or no, not how surely."""
    scores = [score for word in segment.words for score in word.scores]
    data = segment.text.encode()
    return {
        "seek": round(100 * segment.start),  # frames of 10 ms
        "start": segment.start, "end": segment.end, "text": segment.text,
        "tokens": tokenizer.encode(segment.text),
        "temperature": 0.0,  # nothing is drawn
        "avg_logprob": sum(scores) / len(scores) if scores else None,  # of letters, by CTC
        "compression_ratio": len(data) / len(compress(data)),
    }
