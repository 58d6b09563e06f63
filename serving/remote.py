"""RemoteEngine: the Thinker in vLLM, which takes fused sequences as `prompt_embeds`.

Pictures and sounds are encoded and fused here; what comes back are the ids of an answer's tokens.
Each answer holds one connection; vLLM batches them. Closing it ends the answer there.
Start vLLM with --enable-prompt-embeds on the folder of `python -m export.vllm` (docs/scale.md).
"""

import base64
import http.client
import io
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

import torch

from inference.generation import context_length, embed
from inference.omni import Omni
from models.errors import UserError
from serving.engine import End, Job, Token

CONNECTIONS = 64  # answers asked for at once
SECONDS = 60  # that vLLM may take to send the next token
OPENING = 5  # seconds to connect
NEVER = -100  # logit bias of a token that must not come

log = logging.getLogger("serving")


class RemoteEngine:
    """Answers jobs through vLLM's /v1/completions; the interface of Engine.

    Args:
        url: of vLLM's API, such as http://127.0.0.1:8001/v1.

    Raises:
        UserError: no vLLM there.
    """

    def __init__(self, omni: Omni, url: str) -> None:
        try:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
                raise ValueError
        except ValueError:
            raise UserError(f"--thinker_url {url!r} is no address like http://HOST:8001/v1") from None
        self.omni, self.parts = omni, parts
        self.capacity = context_length(omni.model, omni.config())
        self.active: list[Job] = []
        self.lock = threading.Lock()
        self.pool = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="vllm")
        self.model = self._served()

    def start(self) -> None:
        """Nothing to begin: connections open with their answers."""

    def close(self) -> None:
        for job in list(self.active):
            self.cancel(job)
        self.pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, job: Job) -> None:
        """Queue a job. Call from any thread."""
        error = End("error", RuntimeError("the server stops"))
        waits = self.pool.submit(self._answer, job)
        waits.add_done_callback(lambda done: done.cancelled() and job.deliver(error))

    def cancel(self, job: Job) -> None:
        """Let a job end at its next token."""
        job.cancelled = True

    def _connection(self) -> http.client.HTTPConnection:
        secure = self.parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        return kind(self.parts.hostname, self.parts.port, timeout=OPENING)

    def _served(self) -> str:
        """The name of the model that vLLM serves."""
        url = self.parts.geturl()
        try:
            with closing(self._connection()) as connection:
                connection.request("GET", f"{self.parts.path.rstrip('/')}/models")
                return json.load(connection.getresponse())["data"][0]["id"]
        except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
            raise UserError(f"no vLLM answers at {url}: {error}") from None

    def _answer(self, job: Job) -> None:
        with self.lock:
            self.active.append(job)
        try:
            end = End("cancelled") if job.cancelled else self._stream(job)
        except Exception as error:
            if not isinstance(error, UserError):
                log.exception("the Thinker at %s failed", self.parts.geturl())
            end = End("error", error)
        with self.lock:
            self.active.remove(job)
        job.deliver(end)

    def _stream(self, job: Job) -> End:
        """Ask, hand over tokens as they come -> why they ended."""
        job.begin(self.omni.tokenizer, self.capacity)
        with closing(self._connection()) as connection:
            path = f"{self.parts.path.rstrip('/')}/completions"
            headers = {"Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(self.body(job)), headers)
            connection.sock.settimeout(SECONDS)
            response = connection.getresponse()
            if response.status != 200:
                raise RuntimeError(f"vLLM: {response.status} {response.read(500)!r}")
            for token in tokens_of(response, job):
                if job.cancelled:
                    return End("cancelled")
                if token.id == job.config.eos_token_id:
                    return End("stop")
                if reason := job.add(token):
                    return End(reason)
        return End("stop")

    @torch.inference_mode()
    def body(self, job: Job) -> dict:
        """The request: the fused sequence (S, D), and how to choose tokens."""
        config, packed = job.config, io.BytesIO()
        fused = embed(self.omni.model, [job.prompt])[0].float().clone()  # (S, D)
        torch.save(fused, packed)
        body = {
            "model": self.model,
            "prompt_embeds": base64.b64encode(packed.getvalue()).decode(),
            "max_tokens": job.most,
            "temperature": config.temperature,
            "seed": config.seed,
            "repetition_penalty": config.repetition_penalty,
            "top_p": config.top_p,
            "top_k": config.top_k,
            "min_p": config.min_p,
            "logprobs": job.top_logprobs,
            "logit_bias": {str(token): NEVER for token in config.suppress_tokens},
            "stop_token_ids": [config.eos_token_id],
            "stream": True,
            "return_token_ids": True,
            "return_tokens_as_token_ids": True,
        }
        return {name: value for name, value in body.items() if value is not None}


def tokens_of(lines, job: Job) -> Iterator[Token]:
    """Tokens of vLLM's server-sent events; a stream that breaks off is no answer."""
    for line in lines:
        if line.strip() == b"data: [DONE]":
            return
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        if "error" in event:
            raise RuntimeError(f"vLLM: {str(event['error'])[:300]}")
        for choice in event["choices"]:
            yield from scored(choice.get("token_ids") or [], choice.get("logprobs"))
    raise RuntimeError("vLLM: the answer broke off")


def scored(ids: list[int], logprobs: dict | None) -> Iterator[Token]:
    """Tokens with their log-probabilities, where asked for; named token_id:N there."""
    for place, token in enumerate(ids):
        if not logprobs:
            yield Token(token)
            continue
        top = [(int(name[9:]), value) for name, value in logprobs["top_logprobs"][place].items()]
        yield Token(token, logprobs["token_logprobs"][place], top)
