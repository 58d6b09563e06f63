"""Looking inside one answer: shapes, attention and probabilities, as plain tensors.

The answer is made as always; afterwards question and answer run through the model once more, in
one pass that is watched. So watching cannot change what is said, however it was decoded. What becomes
of a `Trace` on paper is inference.tracepage's business.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from inference.generation import embed, new_cache
from inference.normalisation import can_say
from inference.prompt import Picture, Prompt, Sound
from inference.sentences import sentences
from inference.session import ChatSession
from inference.speech import Speaker
from inference.synthesis import CHUNK, waveform
from models.audio import audio_tokens
from models.errors import UserError
from models.omni import NO_SPEECH, OmniModel, thinker_of
from models.thinker import Thinker
from models.tokenizer import IMAGE_TOKENS

SOFTMAX = {F.softmax, torch.softmax, Tensor.softmax}  # all the ways to call it
Shapes = dict[str, tuple[int, ...]]


@dataclass
class Span:
    """Neighbouring tokens of one kind: picture, sound, words or answer."""

    kind: str
    first: int
    count: int


@dataclass
class Trace:
    """What happened in the latest turn. R tokens were chosen, after reading S - R or more."""

    sequence: Prompt  # S tokens: all that was read, then the answer
    start: int  # where the answer begins
    chosen: list[int]  # R ids; the end token is one of them where it was chosen
    attention: Tensor  # (R, L, S) mean over heads; row r is the place where token r was chosen
    probabilities: Tensor  # (R, V) before temperature and filters
    shapes: Shapes  # of every stage, by the name of the module
    spans: list[Span]


def trace(session: ChatSession) -> Trace:
    """Look into the latest answer of a session.

    Raises:
        UserError: there is no answer yet, nobody spoke in the latest sound, or chunks answered.
    """
    if not isinstance(thinker_of(session.omni.model), Thinker):
        raise UserError("exported chunks cannot be looked into: trace the checkpoint (--ckpt_dir)")
    if not session.turns:
        raise UserError("there is no answer yet to look into: ask something first")
    if session.messages[-1]["content"] == NO_SPEECH:  # no turn: the latest is that before it
        raise UserError("nobody spoke: there is no answer to look into")
    reply = session.turns[-1].reply
    read = session.history()
    images = [Picture(one.pixels) for one in read.images]  # to be encoded again, and watched
    sounds = [Sound(one.mel) for one in read.sounds]
    sequence = Prompt(read.ids[:-1], images, sounds)  # without the answer's eos
    start = len(sequence) - len(reply)
    ended = session.generator.timing.tokens > len(reply)  # it counts the end token, too
    chosen = reply + [session.config.eos_token_id] * ended
    if not chosen:
        raise UserError("the latest answer was stopped before its first word")
    model = session.omni.model
    rows = slice(start - 1, start - 1 + len(chosen))
    attention, probabilities, shapes = replay(model, sequence, rows, session.config)
    return Trace(
        sequence, start, chosen, attention, probabilities, shapes, spans(model, sequence, start)
    )


@torch.inference_mode()
def replay(model, sequence: Prompt, rows: slice, config) -> tuple[Tensor, Tensor, Shapes]:
    """One pass over the sequence -> attention (R, L, S), probabilities (R, V), shapes.

    The cache has the kind that the answer was decoded with: what quantising it changed is seen.
    """
    thinker = thinker_of(model)
    cache = new_cache(model, 1, len(sequence), config)
    with watch_shapes(model) as shapes:
        x = embed(model, [sequence])  # (1, S, D)
        with SoftmaxWatch(rows) as attention:
            hidden = thinker.hidden(x, cache=cache)  # (1, S, D)
    logits = thinker.logits(hidden[0, rows])  # (R, V)
    shapes["logits"] = tuple(logits[:1].shape)
    return torch.stack(attention.seen, 1).cpu(), logits.float().softmax(-1).cpu(), shapes


class SoftmaxWatch(TorchFunctionMode):
    """Collects what softmax gives while active: in the Thinker, the attention of each block in order.

    The networks know nothing of it, and no line of attention is written twice.
    """

    def __init__(self, rows: slice):
        super().__init__()
        self.rows = rows
        self.seen: list[Tensor] = []  # of each block (R, S), the mean over heads

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if function in SOFTMAX and out.dim() == 4:  # a memory bank's have other shapes
            # (1, Hkv, group * S, S): as many queries as keys, nothing cached
            heads = out.reshape(-1, out.shape[-1], out.shape[-1])  # (H, S, S)
            self.seen.append(heads[:, self.rows].mean(0))
        return out


@contextmanager
def watch_shapes(model) -> Iterator[Shapes]:
    """Collect the shapes of what the stages give that the pass goes through."""
    shapes: Shapes = {}
    with ExitStack() as hooks:
        for name in stage_names(model):

            def keep(_, __, out: Tensor, name: str = name) -> None:
                shapes[name] = tuple(out.shape)

            hooks.callback(model.get_submodule(name).register_forward_hook(keep).remove)
        yield shapes


def stage_names(model) -> list[str]:
    """The modules whose output is a stage worth seeing."""
    if not isinstance(model, OmniModel):
        return ["model.embed_tokens", f"model.layers.{len(model.model.layers) - 1}"]
    fast = model.audio.config.fast_layers
    return [
        "vision.patch_embed",
        "vision.stem",
        f"vision.layers.{len(model.vision.layers) - 1}",
        "vision.resnet",
        "vision",
        "vision_projector",
        "audio.convs.1",
        *([f"audio.layers.{fast - 1}"] if fast else []),
        "audio.convs.2",
        f"audio.layers.{len(model.audio.layers) - 1}",
        "audio",
        "audio_projector",
        "thinker.model.embed_tokens",
        f"thinker.model.layers.{len(model.thinker.model.layers) - 1}",
    ]


def spans(model, sequence: Prompt, start: int) -> list[Span]:
    """Which tokens are which: a span for each picture and sound, and for the words between."""
    sizes = {
        "picture": iter([IMAGE_TOKENS] * len(sequence.images)),
        "sound": iter([int(audio_tokens(sound.mel.shape[1])) for sound in sequence.sounds]),
    }
    media = {getattr(model, "image_token", None): "picture"}
    media[getattr(model, "audio_token", None)] = "sound"
    found: list[Span] = []
    place = 0
    while place < len(sequence):
        kind = "answer" if place >= start else media.get(sequence.ids[place], "words")
        count = next(sizes[kind]) if kind in sizes else 1
        if kind not in sizes and found and found[-1].kind == kind:
            found[-1].count += 1
        else:
            found.append(Span(kind, place, count))
        place += count
    return found


@dataclass
class Spoken:
    """One sentence on its way from phones to sound."""

    text: str
    phones: list[str]  # P names
    seconds: list[float]  # P lengths
    codes: Tensor  # (T, K)
    mel: Tensor  # (128, 4T)
    wave: Tensor  # (samples,)


@torch.inference_mode()
def trace_speech(
    speaker: Speaker,
    text: str,
    voice: str | None = None,
    speed: float = 1.0,
    vocoder: str = "neural",
    seed: int | None = None,
) -> list[Spoken]:
    """Say a text once more, as `Speaker.speak_stream` does, keeping what is in between."""
    voice = voice or speaker.voices[0]
    loudness = speaker.loudness(voice)
    said = []
    for sentence in filter(can_say, sentences(text)):
        ready, frames = speaker.codes(sentence, voice, speed, seed=seed)
        codes = torch.cat(list(frames))  # (T, K)
        chunks = codes[None].split(CHUNK, 1)  # each (1, t, K)
        sound = waveform(speaker.codec, speaker.vocoder, chunks, vocoder, seed=seed or 0)
        said.append(
            Spoken(
                sentence,
                ready.phones,
                ready.seconds[0].tolist(),
                codes,
                speaker.codec.decode(codes[None])[0],  # (128, 4T)
                torch.cat([torch.from_numpy(loudness.level(x[0].float().numpy())) for x in sound]),
            )
        )
    return said
