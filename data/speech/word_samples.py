"""The shipped sample of words: what preset `nano` hears and says, in many voices.

`samples/words/` holds a dozen words by voices of Kokoro, those of test and dev unheard in training,
and by Hibari's also all pairs of them: "A red circle." `python -m data.speech.word_samples` makes it
anew.
"""

from collections.abc import Iterator

from data.english import article, upper
from data.scenes.objects import FEW_COLORS
from data.shards import ShardWriter
from data.speech.samples import FOLDER, encode
from data.speech.teachers import utterance
from data.speech.voices import KOKORO_HELD_OUT
from models.errors import one_line_errors

SHAPES = ("circle", "square", "star", "heart", "cross", "arrow")
WORDS = tuple(f"{upper(word)}." for word in FEW_COLORS + SHAPES)
PAIRS = tuple(f"{upper(article(f'{color} {shape}'))}." for color in FEW_COLORS for shape in SHAPES)
SPEAKER = "hibari:heart"
VOICES = {
    "train": tuple(
        f"kokoro:{name}"
        for name in "af_alloy af_bella af_kore af_nicole af_sarah af_sky am_adam am_echo am_fenrir am_liam"
        " am_puck bf_alice bf_emma bm_fable bm_george bm_lewis".split()
    ),
    **KOKORO_HELD_OUT,
}


def said() -> Iterator[tuple[str, str, str]]:
    """(split, voice, text) of the whole sample."""
    for split, voices in VOICES.items():
        for voice in voices:
            yield from ((split, voice, text) for text in WORDS)
    yield from (("train", SPEAKER, text) for text in WORDS + PAIRS)


def write() -> None:
    """Make the sample anew."""
    with ShardWriter(FOLDER / "words", 0) as writer:
        for split, voice, text in said():
            record, blobs = utterance(text, voice)
            writer.add(record | {"split": split}, {"opus": encode(blobs["wave"])})


if __name__ == "__main__":
    one_line_errors(write)()
