"""One utterance by a voice of data/speech/voices.py, varied at random: the door to the engines."""

import random

import numpy as np

from data.speech.augment import change_speed
from data.speech.tts import aligned, espeak, festival, flite
from data.speech.voices import Voice


def speak(text: str, voice: Voice, rng: random.Random, vary: bool = True) -> np.ndarray:
    """float32 (samples,) in [-1, 1] at 16 kHz; `vary` changes rate, pitch and apparent speaker."""
    if voice.engine == "flite":
        stretch = rng.uniform(0.85, 1.2) if vary else 1.0
        f0 = voice.f0 * rng.uniform(0.75, 1.3) if vary and voice.f0 else None
        spread = rng.uniform(8, 30) if f0 else None
        wave = flite.synthesise(text, voice.name, stretch, f0, spread)
    elif voice.engine == "espeak":
        rate, pitch, spread = (
            (rng.randint(130, 200), rng.randint(20, 80), rng.randint(25, 75))
            if vary else (160, 50, 50)
        )
        wave = espeak.synthesise(text, voice.name, rate, pitch, spread)
    elif voice.engine in aligned.ENGINES:
        speed = rng.uniform(0.8, 1.3) if vary else 1.0
        wave = aligned.say(text, voice.engine, voice.name, speed)
    else:
        stretch = rng.uniform(0.85, 1.2) if vary else 1.0
        f0 = voice.f0 * rng.uniform(0.75, 1.6) if vary and voice.f0 else None
        wave = festival.synthesise(text, voice.name, stretch, f0)
    wave = wave.astype(np.float32) / 32768  # (samples,)
    if vary and rng.random() < 0.5:
        wave = change_speed(wave, rng.uniform(0.88, 1.14))
    return wave
