"""What happens to sound between a mouth and a microphone: noise, room, band limit, speed, gain.

Pure functions of a float32 wave in [-1, 1] at 16 kHz and a numpy Generator. Nothing but `as_int16` clips: a
result is scaled down when it would leave [-1, 1].
"""

import numpy as np

RATE = 16000  # Hz


def resample(wave: np.ndarray, ratio: float) -> np.ndarray:
    """Exact band-limited resampling: (n,) -> (round(n * ratio),). ratio > 1 gives more samples."""
    n = len(wave)
    # A zero tail keeps the end from leaking into the start; an FFT-friendly length keeps it fast.
    padded = -(-(n + 400) // 1024) * 1024
    size = round(padded * ratio)
    spectrum = np.fft.rfft(wave, padded)  # (padded / 2 + 1,)
    out = np.fft.irfft(spectrum[: size // 2 + 1], size) * (size / padded)
    return out[: round(n * ratio)].astype(np.float32)


def as_int16(samples: np.ndarray) -> np.ndarray:
    """Samples in steps of int16, rounded, and clipped where they go beyond it. (n,) -> int16 (n,)"""
    return np.clip(np.round(samples), -32768, 32767).astype(np.int16)


def change_speed(wave: np.ndarray, factor: float) -> np.ndarray:
    """Play faster (> 1) or slower: pitch and formants move too, like another speaker's."""
    return resample(wave, 1.0 / factor)


def coloured_noise(n: int, slope: float, rng: np.random.Generator) -> np.ndarray:
    """Noise of unit power whose power falls as 1 / f^slope. (n,)"""
    size = -(-n // 1024) * 1024
    spectrum = np.fft.rfft(rng.standard_normal(size))
    frequency = np.maximum(np.fft.rfftfreq(size, 1 / RATE), 20.0)  # Hz; flat under 20
    noise = np.fft.irfft(spectrum / frequency ** (slope / 2), size)[:n]
    return (noise / np.sqrt(np.mean(noise**2) + 1e-12)).astype(np.float32)


def add_noise(wave: np.ndarray, noise: np.ndarray, snr_db: float) -> np.ndarray:
    """Mix so that speech power over noise power is `snr_db`."""
    speech = np.sqrt(np.mean(wave**2) + 1e-12)
    level = np.sqrt(np.mean(noise**2) + 1e-12)
    return wave + noise * (speech / level * 10 ** (-snr_db / 20))


def room(wave: np.ndarray, seconds: float, wet: float, rng: np.random.Generator) -> np.ndarray:
    """A direct path plus a tail of noise that falls by 60 dB in `seconds`; length is kept."""
    n = int(seconds * RATE)
    tail = rng.standard_normal(n) * 10 ** (-3 * np.arange(n) / n)
    tail[: int(0.002 * RATE)] = 0  # nothing reflects back sooner than 2 ms
    tail *= wet / np.sqrt(np.sum(tail**2))
    size = -(-(len(wave) + n) // 1024) * 1024
    echo = np.fft.irfft(np.fft.rfft(wave, size) * np.fft.rfft(tail, size), size)
    return (wave + echo[: len(wave)]).astype(np.float32)


def band_limit(wave: np.ndarray, low: float, high: float) -> np.ndarray:
    """Keep `low` to `high` Hz, with soft edges."""
    size = -(-len(wave) // 1024) * 1024
    f = np.fft.rfftfreq(size, 1 / RATE)
    gain = 1 / (1 + (np.maximum(f, 1) / high) ** 12) / (1 + (low / np.maximum(f, 1)) ** 6)
    return np.fft.irfft(np.fft.rfft(wave, size) * gain, size)[: len(wave)].astype(np.float32)


def set_peak(wave: np.ndarray, peak: float) -> np.ndarray:
    """Scale so that the largest sample is `peak`."""
    return (wave * (peak / max(float(np.abs(wave).max()), 1e-6))).astype(np.float32)


def pad(wave: np.ndarray, before: float, after: float) -> np.ndarray:
    """Silence around, in seconds."""
    return np.pad(wave, (int(before * RATE), int(after * RATE)))


def disturb(wave: np.ndarray, babble: np.ndarray, rng: np.random.Generator):
    """A random everyday recording of `wave`. -> (wave, snr in dB or None)

    Half stay nearly clean; the rest get noise (coloured, or babble: other voices (n,)), and some of
    them a room or a narrow band as well.
    """
    if rng.random() < 0.5:
        return set_peak(wave, rng.uniform(0.2, 0.95)), None
    if rng.random() < 0.4:
        wave = room(wave, rng.uniform(0.1, 0.5), rng.uniform(0.2, 0.8), rng)
    if rng.random() < 0.3:
        start = int(rng.integers(len(babble)))
        noise = np.resize(np.roll(babble, -start), len(wave))
    else:
        noise = coloured_noise(len(wave), rng.uniform(0, 2), rng)
    snr = float(round(rng.uniform(5, 30), 1))
    wave = add_noise(wave, noise, snr)
    if rng.random() < 0.25:
        wave = band_limit(wave, rng.uniform(50, 300), rng.uniform(3000, 6000))
    return set_peak(wave, rng.uniform(0.2, 0.95)), snr
