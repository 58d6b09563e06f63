"""`POST /v1/trace`: the answer to a chat made once more, as a page that shows the model's inside."""

from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.requests import Request

from inference.config import GenerateConfig
from inference.session import Turn
from inference.tracepage import write_page
from serving.conversation import parse
from serving.errors import ApiError
from serving.media import files_of
from serving.schema import ChatBody, Message
from serving.service import Service, Speech
from serving.streaming import unless_gone


async def page(service: Service, body: ChatBody, request: Request) -> str:
    """HTML of the last answer; one that the messages end with is made anew, from its question."""
    messages = list(body.messages)
    while messages[-1].role == "assistant" and len(messages) > 1:
        messages.pop()
    config = service.config(body.settings())
    speech = None
    if body.speaks and body.audio is not None:
        speech = await service.speech(body.audio.voice, body.audio.speed, "audio.")
    with service.place():
        work = service.work("compute", make, service, messages, config, speech)
        return await unless_gone(request, work)


def make(
    service: Service, messages: list[Message], config: GenerateConfig, speech: Speech | None
) -> str:
    """Answer as a session would, and look into it."""
    system, turns = parse(messages, service.spoken)
    session = service.omni.session(system)
    session.config = config
    conversations = service.conversations
    for turn, prompt in zip(turns[:-1], conversations.read(turns[:-1], config, session.head)):
        if len(prompt):  # else nobody spoke: as if it had not been
            session.turns.append(Turn(prompt, conversations.reply(turn.reply)))
    last = turns[-1]
    with files_of(last.media) as files:
        question = service.omni.take(
            last.text, **files.paths, config=config
        )
    if question.silent:
        raise ApiError("nobody speaks in the recording: there is nothing to look into")
    if not "".join(session.answer(question, last.text)).strip():
        raise ApiError("the answer is empty: there is nothing to look into")
    spoken = {"voice": speech.voice, "speed": speech.speed} if speech else None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.html"
        write_page(path, session, spoken)
        return path.read_text(encoding="utf-8")
