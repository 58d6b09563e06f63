"""Answers that no model writes."""

import asyncio
from types import SimpleNamespace

import pytest

pytest.importorskip("serving.app", reason="the server lacks a package: requirements-dev.txt")

from inference.config import GenerateConfig
from inference.omni import SHIPPED
from inference.prompt import Prompt
from models.omni import NO_SPEECH
from models.tokenizer import Tokenizer
from serving.answer import Answer
from serving.conversation import Prepared
from serving.metrics import Metrics

TOKENIZER = Tokenizer(SHIPPED / "tokenizer.model")
LENGTH = len(TOKENIZER.encode(NO_SPEECH))


@pytest.mark.parametrize(("most", "reason"), [(LENGTH + 1, "stop"), (LENGTH, "length"), (2, "length")])
def test_the_answer_to_silence_is_as_long_as_asked_for(most, reason):
    service = SimpleNamespace(
        omni=SimpleNamespace(tokenizer=TOKENIZER), metrics=Metrics(),
        engine=SimpleNamespace(cancel=lambda job: None, capacity=1024),
        conversations=SimpleNamespace(remember=lambda ids: None),
    )

    async def run() -> Answer:
        silent = Prepared(Prompt([1]), "", 0, silent=True)
        answer = Answer(service, silent, GenerateConfig(max_new_tokens=most), began=0.0)
        async with answer:
            async for _ in answer:
                pass
        return answer

    answer = asyncio.run(run())
    assert answer.usage()["completion_tokens"] == min(most, LENGTH)
    assert answer.reason == reason and NO_SPEECH.startswith(answer.text)
