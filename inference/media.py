"""Whatever a user brings: pictures, sounds and videos, from paths, memory or open files.

One loader a medium, each by content. What cannot be used is refused with one line; what is cut
short is said in a notice. No features here: models.vision and models.mel make those.
"""

from inference.audio import SAMPLE_RATE, load_audio
from inference.images import load_image
from inference.source import LIMITS, Limits, check_file
from inference.video import load_video
from inference.waveform import resample

__all__ = [
    "LIMITS", "SAMPLE_RATE", "Limits", "check_file", "load_audio", "load_image", "load_video", "resample",
]


def as_list(source) -> list:
    """One source or a list of them as a list; a pair (samples, rate) is one source."""
    if source is None:
        return []
    return source if isinstance(source, list) else [source]
