"""Word times of a transcript: CTC forced alignment (Graves et al. 2006; torchaudio's).

The audio encoder's CTC head says which character stands in which 20 ms frame; the likeliest path
that spells the transcript says when each word begins and ends.
"""

import numpy as np
import torch
import torchaudio.functional as AF

from inference.generation import encode_media
from inference.prompt import Sound
from inference.subtitles import Word
from models.ctc import ALPHABET, BLANK, to_alphabet
from models.mel import SAMPLE_RATE, log_mel

FRAME_SECONDS = 0.02  # of the CTC head: four in a token of 80 ms
PAUSE = 0.2  # seconds: a shorter gap belongs to the word before it, whose end CTC marks early
AUDIBLE = 0.05  # of the largest sample: what is below is silence


@torch.inference_mode()
def align_words(omni, samples: np.ndarray, text: str) -> list[Word]:
    """When each word of a transcript is said.

    Args:
        samples: float32 (n,) at 16 kHz, the recording that the transcript is of.

    Returns:
        The words of `text` as written, in order; one with nothing to spell, such as a number in
        figures, lies between its neighbours.
    """
    words = text.split()
    spelled = [to_alphabet(word).replace(" ", "") for word in words]
    labels = [ALPHABET.index(letter) + 1 for word in spelled for letter in word]
    sound = Sound(log_mel(torch.from_numpy(samples)))
    encode_media(omni.model, [], [sound])
    scores = omni.model.audio.ctc_log_probs(sound.encoded[None])[0].cpu()  # (frames, labels)
    if not labels or len(scores) < len(labels) + repeats(labels):
        return [Word(word, 0.0, len(samples) / SAMPLE_RATE) for word in words]
    path, likely = AF.forced_align(scores[None], torch.tensor([labels]), blank=BLANK)
    spans = AF.merge_tokens(path[0], likely[0], blank=BLANK)  # one a label
    begins, stops = loud_span(samples)
    found, place, end = [], 0, begins
    for word, letters in zip(words, spelled, strict=True):
        start, own = end, spans[place : place + len(letters)]
        if own:
            start, end = own[0].start * FRAME_SECONDS, own[-1].end * FRAME_SECONDS
            start = max(begins, start) if end > begins else start  # a faint word keeps its own time
            place += len(letters)
        scores = tuple(float(one.score) for one in own)
        found.append(Word(word, round(start, 3), round(end, 3), scores))
    for word, after in zip(found, found[1:]):
        if after.start - word.end < PAUSE:
            word.end = after.start
    found[-1].end = round(max(found[-1].end, stops), 3)
    return found


def loud_span(samples: np.ndarray) -> tuple[float, float]:
    """Where the sound begins and ends in seconds: the first character's span holds the silence."""
    loud = np.flatnonzero(np.abs(samples) > AUDIBLE * np.abs(samples).max())
    return (float(loud[0]) / SAMPLE_RATE, float(loud[-1]) / SAMPLE_RATE) if len(loud) else (0.0, 0.0)


def repeats(labels: list[int]) -> int:
    """How many labels follow their like: CTC needs a blank between them."""
    return sum(a == b for a, b in zip(labels, labels[1:]))
