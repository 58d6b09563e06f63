"""From mel to sound: the vocoder beside Griffin-Lim, how close it comes and how quick it is.

Both make the same held-out sentences, from true mels and from those of the codec. Close is STOI and
PESQ against the teacher's wave; quick is the sound's length beside the computing time.
"""

from __future__ import annotations

import os
import time

import torch
from torch import Tensor

from data.progress import progress
from evaluation.codebooks import encoded
from evaluation.fidelity import Waves, liked, understood
from evaluation.results import mean
from evaluation.said import teachers
from evaluation.setting import SEED, Measured, Setting
from inference.speech import Speaker
from models.griffinlim import griffin_lim
from models.mel import SAMPLE_RATE, log_mel


def measure(setting: Setting) -> Measured:
    """Figures of both, as `griffinlim/…` and `vocoder/…`, and behind the codec as `codec_…`."""
    speaker = Speaker.from_pretrained(setting.ckpt_dir)
    sounds = [said for voice in teachers(setting).values() for said in voice]
    spoken = [encoded(speaker, said.wave) for said in sounds]
    figures = pace(speaker, [codes for _, codes in spoken])
    found = ways(speaker)
    true, made = [], {f"{codec}{name}": [] for codec in ("", "codec_") for name in found}
    with torch.inference_mode():
        for wave, codes in progress(spoken, desc="vocoders"):
            true.append(wave.numpy())
            for codec, source in (("", log_mel(wave)[None]), ("codec_", speaker.codec.decode(codes[None]))):
                for name, way in found.items():
                    made[codec + name].append(way(source)[0].numpy())
    return figures | closeness(true, made)


def ways(speaker: Speaker) -> dict:
    """By name, what makes waves (1, samples) of mels (1, 128, T)."""
    return {
        "griffinlim": lambda mel: griffin_lim(mel, seed=SEED),
        "vocoder": speaker.vocoder,
    }


def closeness(true: Waves, made: dict[str, Waves]) -> Measured:
    """STOI and PESQ against the teacher's waves."""
    figures: Measured = {}
    for name, waves in made.items():
        figures[f"{name}/stoi"] = mean(understood(true, waves))
        if scores := liked(true, waves):
            figures[f"{name}/pesq"] = mean(scores)
    return figures


@torch.inference_mode()
def pace(speaker: Speaker, codes: list[Tensor]) -> Measured:
    """How many times quicker than the sound lasts, on one thread and on all.

    Each goes through the sentences by itself, codec first, as it would in use; the first ones, in
    which buffers and kernels are made, are not counted.
    """
    figures: Measured = {}
    before = torch.get_num_threads()
    for threads, suffix in ((1, "_one_thread"), (os.cpu_count() or 1, "")):
        torch.set_num_threads(threads)
        for name, way in ways(speaker).items():
            speeds = []
            for spoken in codes:
                mel = speaker.codec.decode(spoken[None])  # (1, 128, T)
                start = time.perf_counter()
                wave = way(mel)  # (1, samples)
                speeds.append(wave.shape[1] / SAMPLE_RATE / (time.perf_counter() - start))
            figures[f"{name}/times_real_time{suffix}"] = mean(speeds[len(speeds) // 10 :])
    torch.set_num_threads(before)
    return figures
