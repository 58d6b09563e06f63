"""One answer as a page to look at: a `Trace` in, one HTML file out that needs nothing else.

The page itself, its style and its script, is trace.html beside this file; here its data are made:
pictures as data URIs, attention as bytes, stages with their shapes. Nothing here runs the Thinker.
"""

from __future__ import annotations

import base64
import io
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image
from torch import Tensor

from inference.output import check_page_path, write_text
from inference.session import ChatSession
from inference.trace import Spoken, Trace, trace, trace_speech
from models.mel import FRAME_RATE, HOP, SAMPLE_RATE
from models.omni import OmniModel, thinker_of
from models.tokenizer import Tokenizer

TEMPLATE = Path(__file__).with_name("trace.html")
DATA = "{{trace}}"  # its place in the template
TOP = 8  # likeliest tokens shown for each one chosen
ATTENTION_BYTES = 1_000_000  # more layers than fit are thinned out: the page must stay light
COLUMNS = 400  # of a drawn wave
MEL_RANGE = (10, 99.8)  # percentiles: black and white of a mel picture
INK = np.array([[10, 14, 30], [38, 62, 110], [92, 140, 178], [190, 220, 225], [255, 255, 255]])


def write_page(path: str | Path, session: ChatSession, speech: dict | None = None) -> None:
    """Look into the session's latest answer and write what is seen.

    Args:
        speech: voice, speed, vocoder and seed it was spoken with; None: it was not.
    """
    check_page_path(path)
    seen = trace(session)
    answer = session.messages[-1]["content"]
    spoken: list[Spoken] = []
    if speech is not None:
        spoken = trace_speech(session.omni.speaker, answer, **speech)
    data = json.dumps(page_data(session, seen, spoken), ensure_ascii=False)
    # Within a script element only "<" can end it: a question may hold "</script>".
    page = TEMPLATE.read_text(encoding="utf-8").replace(DATA, data.replace("<", "\\u003c"))
    write_text(path, page)


def page_data(session: ChatSession, seen: Trace, spoken: list[Spoken]) -> dict:
    """All that the page's script draws."""
    tokenizer = session.omni.tokenizer
    layers = kept_layers(seen.attention)
    config = session.config
    return {
        "question": session.messages[-2]["content"] or session.thinking,
        "thinking": session.thinking,
        "answer": session.messages[-1]["content"],
        "checkpoint": session.omni.folder.name,
        "temperature": config.temperature,
        "tokens": [token_text(tokenizer, token) for token in seen.sequence.ids],
        "special": sorted(tokenizer.special),
        "ids": seen.sequence.ids,
        "start": seen.start,
        "spans": [asdict(span) for span in seen.spans],
        "words": words(tokenizer, seen.chosen),
        "guesses": guesses(tokenizer, seen),
        "layers": [layer + 1 for layer in layers],
        "attention": attention_bytes(seen.attention, layers),
        "pictures": [picture_uri(one.pixels.permute(1, 2, 0).numpy()) for one in seen.sequence.images],
        "sounds": [
            {"mel": mel_uri(one.mel), "seconds": one.mel.shape[1] / FRAME_RATE}
            for one in seen.sequence.sounds
        ],
        "lanes": lanes(session, seen, spoken),
        "speech": [sentence_data(sentence) for sentence in spoken],
    }


# ---- words and guesses


def token_text(tokenizer: Tokenizer, token: int) -> str:
    """A token as it can be shown: a special one by name, half a character as \\x.."""
    return tokenizer.piece_bytes(token, skip_special=False).decode("utf-8", "backslashreplace")


def words(tokenizer: Tokenizer, chosen: list[int]) -> list[dict]:
    """Tokens of an answer grouped into words: each text and the rows that chose its tokens."""
    found: list[dict] = []
    for row, token in enumerate(chosen):
        new = token in tokenizer.special or tokenizer.piece_bytes(token)[:1] in (b" ", b"\n")
        if new or not found:
            found.append({"rows": []})
        found[-1]["rows"].append(row)
    for word in found:
        word["text"] = tokenizer.decode([chosen[row] for row in word["rows"]]).strip()
        word["end"] = chosen[word["rows"][0]] == tokenizer.eos
    return found


def guesses(tokenizer: Tokenizer, seen: Trace) -> list[dict]:
    """For each chosen token the likeliest ones, and how likely and of which rank it was itself."""
    found = []
    best = seen.probabilities.topk(min(TOP, seen.probabilities.shape[1]))  # (R, TOP)
    for row, token in enumerate(seen.chosen):
        p = seen.probabilities[row]  # (V,)
        top = zip(best.indices[row].tolist(), best.values[row].tolist())
        found.append(
            {
                "id": token,
                "text": token_text(tokenizer, token),
                "p": round(float(p[token]), 6),
                "rank": int((p > p[token]).sum()) + 1,
                "top": [[i, token_text(tokenizer, i), round(share, 6)] for i, share in top],
            }
        )
    return found


# ---- attention and pictures


def kept_layers(attention: Tensor) -> list[int]:
    """Layers of (R, L, S) to show: all, or as many as fit, evenly spaced from first to last."""
    R, L, S = attention.shape
    room = max(0, ATTENTION_BYTES // (R * S) - 1)  # one place is the mean's
    if room >= L:
        return list(range(L))
    return sorted({round(layer) for layer in np.linspace(0, L - 1, room)})


def attention_bytes(attention: Tensor, layers: list[int]) -> str:
    """The mean over layers, then some layers, (R, 1 + n, S), a byte each, as base64.

    A byte is 255 times the square root: small weights, which are most of them, keep their shades.
    """
    mean = attention.mean(1, keepdim=True)  # (R, 1, S)
    kept = np.concatenate([mean.numpy(), attention[:, layers].numpy()], 1)  # (R, 1 + n, S)
    return encoded(np.rint(255 * np.sqrt(kept.clip(0, 1))).astype(np.uint8).tobytes())


def encoded(content: bytes) -> str:
    """Bytes as base64."""
    return base64.b64encode(content).decode("ascii")


def picture_uri(pixels: np.ndarray, kind: str = "JPEG") -> str:
    """uint8 (H, W, 3) as a data URI."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, quality=88)
    return f"data:image/{kind.lower()};base64,{encoded(file.getvalue())}"


def inked(values: np.ndarray) -> np.ndarray:
    """Values from 0 to 1 (H, W) as colours from dark to bright, uint8 (H, W, 3)."""
    stops = np.linspace(0, 1, len(INK))
    channels = [np.interp(values, stops, INK[:, channel]) for channel in range(3)]
    return np.stack(channels, -1).astype(np.uint8)


def mel_uri(mel: Tensor) -> str:
    """A log-mel (128, T) as a picture, low tones at the bottom."""
    values = mel.flip(0).float().cpu().numpy()  # (128, T)
    low, high = np.percentile(values, MEL_RANGE)
    return picture_uri(inked((values - low) / max(high - low, 1.0)))


# ---- stages


def stage(title: str, shape, note: str = "") -> dict:
    """One box of the pipeline."""
    return {"title": title, "shape": list(shape), "note": note}


def lanes(session: ChatSession, seen: Trace, spoken: list[Spoken]) -> list[dict]:
    """The way through the model: a lane for each sense, the Thinker, and speech."""
    found = []
    model = session.omni.model
    if seen.sequence.images:
        found.append({"name": "Vision encoder", "kind": "picture", "stages": vision_stages(model, seen)})
    if seen.sequence.sounds:
        found.append({"name": "Audio encoder", "kind": "sound", "stages": audio_stages(model, seen)})
    found.append({"name": "Words", "kind": "words", "stages": word_stages(seen)})
    found.append({"name": "Thinker", "kind": "answer", "stages": thinker_stages(session, seen)})
    if spoken:
        found.append({"name": "Voice", "kind": "voice", "stages": voice_stages(spoken)})
    return found


def vision_stages(model: OmniModel, seen: Trace) -> list[dict]:
    """From pixels to tokens of the Thinker's width."""
    shapes, c = seen.shapes, model.vision.config
    deep = len(model.vision.layers)
    return [
        stage("pixels", (len(seen.sequence.images), *seen.sequence.images[0].pixels.shape), "0 to 255"),
        stage("patches", shapes["vision.patch_embed"], f"{c.patch_size} × {c.patch_size} pixels"),
        stage("stem", shapes["vision.stem"], "convolutions: edges, textures"),
        stage(f"{deep} blocks", shapes[f"vision.layers.{deep - 1}"], "every place looks at all"),
        stage("ResNet", shapes["vision.resnet"], "the whole at 32 × 32"),
        stage("tokens", shapes["vision"], f"{c.merge} × {c.merge} places joined, and the whole"),
        stage("projector", shapes["vision_projector"], "to the Thinker's width"),
    ]


def audio_stages(model: OmniModel, seen: Trace) -> list[dict]:
    """From a wave to tokens of the Thinker's width; the longest clip gives the lengths."""
    shapes, mels = seen.shapes, [one.mel for one in seen.sequence.sounds]
    fast, deep = model.audio.config.fast_layers, len(model.audio.layers)
    frames = max(mel.shape[1] for mel in mels)
    found = [
        stage("wave", (len(mels), frames * HOP), f"{SAMPLE_RATE:,} samples a second"),
        stage("mel", (len(mels), mels[0].shape[0], frames), f"{FRAME_RATE} frames a second"),
        stage("2 convolutions", shapes["audio.convs.1"], "a quarter of the frames"),
    ]
    if fast:
        found.append(stage(f"{fast} blocks at 25 Hz", shapes[f"audio.layers.{fast - 1}"], "letters"))
    return [
        *found,
        stage("convolution", shapes["audio.convs.2"], "half of the frames"),
        stage(f"{deep - fast} blocks", shapes[f"audio.layers.{deep - 1}"], "frames look at all"),
        stage("tokens", shapes["audio"], "12.5 a second"),
        stage("projector", shapes["audio_projector"], "to the Thinker's width"),
    ]


def word_stages(seen: Trace) -> list[dict]:
    """From letters to embeddings."""
    count = sum(span.count for span in seen.spans if span.kind == "words")
    width = next(shape for name, shape in seen.shapes.items() if name.endswith("embed_tokens"))[-1]
    return [
        stage("ids", (1, count), "parts of words, and marks of the chat"),
        stage("embeddings", (1, count, width), "a row of a table for each"),
    ]


def thinker_stages(session: ChatSession, seen: Trace) -> list[dict]:
    """From one sequence of embeddings to the answer's text."""
    c = thinker_of(session.omni.model).config
    width = c.hidden_size
    kept = (c.num_hidden_layers, 2, c.num_key_value_heads, len(seen.sequence), c.head_dim)
    layers = f"{c.num_attention_heads} heads look back at all before"
    return [
        stage("one sequence", (1, seen.start, width), "all senses in reading order"),
        stage(f"{c.num_hidden_layers} layers", (1, seen.start, width), layers),
        stage("keys and values", kept, "kept, so that each token is read once"),
        stage("logits", seen.shapes["logits"], "a score for each token of the vocabulary"),
        stage("tokens", (len(seen.chosen),), "one after another, each read again"),
        stage("text", (len(session.messages[-1]["content"]),), "characters"),
    ]


def voice_stages(spoken: list[Spoken]) -> list[dict]:
    """From text to sound: the first sentence."""
    first = spoken[0]
    more = f"first of {len(spoken)} sentences" if len(spoken) > 1 else ""
    return [
        stage("phones", (len(first.phones),), more or "with a length each"),
        stage("codes", first.codes.shape, "the Talker writes them, a frame at a time"),
        stage("mel", first.mel.shape, "the codec reads them"),
        stage("wave", first.wave.shape, "the vocoder makes it"),
    ]


def sentence_data(sentence: Spoken) -> dict:
    """A spoken sentence as pictures and a sound."""
    codes = sentence.codes.T.float()  # (K, T)
    wave = sentence.wave.float().numpy()  # (samples,)
    parts = np.array_split(wave, min(COLUMNS, len(wave)))
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", SAMPLE_RATE, 1, "VORBIS", format="OGG") as out:
        for second in np.array_split(wave, -(-len(wave) // SAMPLE_RATE)):
            out.write(second)  # libsndfile overflows its stack on long pieces
    return {
        "text": sentence.text.strip(),
        "phones": sentence.phones,
        "seconds": [round(length, 3) for length in sentence.seconds],
        "codes": picture_uri(inked((codes / max(1.0, float(codes.max()))).numpy()), "PNG"),
        "mel": mel_uri(sentence.mel),
        "wave": [[round(float(x.min()), 3), round(float(x.max()), 3)] for x in parts],
        "sound": f"data:audio/ogg;base64,{encoded(file.getvalue())}",
    }
