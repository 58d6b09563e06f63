"""Waveforms before the encoder: channels to one, rate to 16 kHz, level into the usual range.

Arrays in, arrays out: files belong to inference.audio.
"""

from collections.abc import Iterable, Iterator

import numpy as np

CANCELLED = 0.5  # of the power that unrelated channels would have: below it, channels cancel
BANDS = 32  # equal parts of 0 … 4 kHz, where speech is, in which channels are compared
CANCELLED_BANDS = 0.25  # of the bands: more than these cancelled, and one channel is heard instead
AUDIBLE_BAND = 1e-3  # of the loudest band's power: weaker ones are not compared
FRAME = 0.025  # s, over which a level is measured
LOUD_FRAMES = 95  # percentile of frame levels that counts as the level of the speech
QUIETEST = 10 ** (-35 / 20)  # RMS of full scale: quieter speech is raised to it
SILENT = 10 ** (-78 / 20)  # RMS of full scale: below it there is nothing to raise
ROLL_OFF = 0.96  # of the lower Nyquist frequency, where the resampling filter begins to close
DOWNMIXED = 5  # s whose channels are mixed in one way: a codec's frames are too short to judge by
BLOCK, CONTEXT = 30, 1  # s resampled at once, and what each side of a block lends for it


def downmix(samples: np.ndarray) -> np.ndarray:
    """Channels to one: their mean, or the loudest where they would cancel. (n, channels) -> (n,)"""
    if samples.shape[1] == 1:
        return samples[:, 0]
    mean = samples.mean(axis=1)  # (n,)
    powers = samples.astype(np.float64).var(axis=0)  # (channels,)
    if not powers.any():
        return mean
    unrelated = sum(band_powers(channel) for channel in samples.T) / samples.shape[1] ** 2  # (BANDS,)
    heard = unrelated > AUDIBLE_BAND * unrelated.max()
    lost = band_powers(mean)[heard] < CANCELLED * unrelated[heard]
    return samples[:, powers.argmax()] if lost.mean() > CANCELLED_BANDS else mean


def band_powers(wave: np.ndarray) -> np.ndarray:
    """Power in equal parts of the lower half of the spectrum. (n,) -> (BANDS,)"""
    power = np.abs(np.fft.rfft(wave)) ** 2  # (n / 2 + 1,)
    edges = np.linspace(0, max(len(power) // 2, BANDS), BANDS, endpoint=False).astype(int)
    return np.add.reduceat(power, edges.clip(max=len(power) - 1))


def speech_level(wave: np.ndarray, rate: int) -> float:
    """RMS of the loud frames, for speech that of its vowels. (n,)"""
    size = max(int(FRAME * rate), 1)
    frames = wave[: len(wave) // size * size].reshape(-1, size)  # (frames, size)
    if not len(frames):
        return float(np.sqrt(np.mean(wave**2)))
    return float(np.percentile(np.sqrt((frames**2).mean(axis=1)), LOUD_FRAMES))


def levelled(wave: np.ndarray, rate: int) -> np.ndarray:
    """Raise quiet speech, lower what is beyond full scale, centre on zero. (n,) -> (n,)

    Between the two nothing changes: the encoder is trained on these levels.
    """
    wave = wave - wave.mean()
    level = speech_level(wave, rate)
    if SILENT < level < QUIETEST:
        return np.clip(wave * (QUIETEST / level), -1.0, 1.0)  # a click may be cut, speech is not
    return wave / max(float(np.abs(wave).max()), 1.0)


def resample(samples: np.ndarray, rate: int, new_rate: int) -> np.ndarray:
    """Change the rate with a linear-phase low-pass in the frequency domain. (n,) -> (n',) float32

    Exact for every pair of rates, however odd: a polyphase filter needs gcd(rates) to be large, and
    44,101 Hz to 16,000 Hz would take gigabytes. The filter closes as a half cosine just below the
    lower Nyquist frequency, so that it rings for milliseconds only.
    """
    samples = np.asarray(samples, dtype=np.float32)
    if rate == new_rate:
        return samples
    count = round(len(samples) * new_rate / rate)
    padding = rate // 20  # 50 ms of silence, so that the end does not ring into the start
    seconds = -(-(len(samples) + padding) // rate)  # whole seconds: both lengths are exact
    top = seconds * min(rate, new_rate) // 2  # bins up to the lower Nyquist frequency
    spectrum = np.fft.rfft(samples, seconds * rate)[: top + 1]
    first = int(ROLL_OFF * top)
    spectrum[first:] *= 0.5 + 0.5 * np.cos(np.linspace(0, np.pi, len(spectrum) - first))
    wave = np.fft.irfft(spectrum, seconds * new_rate) * (new_rate / rate)
    return wave[:count].astype(np.float32)


def resampled_blocks(
    pieces: Iterable[np.ndarray], rate: int, new_rate: int
) -> Iterator[np.ndarray]:
    """Downmix and resample a stream of any length in flat memory.

    Args:
        pieces: float32 (n, channels) each, in order, of any sizes.

    Yields:
        float32 (m,) at `new_rate`; joined they equal one resampling of the whole, up to 1e-3.
    """
    before, ahead = np.zeros(0, np.float32), np.zeros(0, np.float32)  # (≤ context,), (< block + context,)
    block, context = BLOCK * rate, CONTEXT * rate
    for piece in gathered(pieces, DOWNMIXED * rate):
        ahead = np.concatenate([ahead, downmix(piece)])
        while len(ahead) >= block + context:
            yield middle(before, ahead[:block], ahead[block : block + context], rate, new_rate)
            before, ahead = ahead[block - context : block], ahead[block:]
    if len(ahead):
        yield middle(before, ahead, ahead[:0], rate, new_rate)


def gathered(pieces: Iterable[np.ndarray], least: int) -> Iterator[np.ndarray]:
    """Pieces (n, channels) joined until they have as many samples; the last may have fewer."""
    held: list[np.ndarray] = []
    for piece in pieces:
        held.append(piece)
        if sum(map(len, held)) >= least:
            yield np.concatenate(held)
            held = []
    if held:
        yield np.concatenate(held)


def middle(before, block, after, rate: int, new_rate: int) -> np.ndarray:
    """A block resampled between its neighbours, which are cut off again; whole seconds before."""
    wave = resample(np.concatenate([before, block, after]), rate, new_rate)
    start = len(before) * new_rate // rate
    return wave[start : start + round(len(block) * new_rate / rate)]


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Begin and end of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
