"""Videos from whatever FFmpeg opens: a few upright frames, and the sound where it is wanted."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from inference.audio import container, duration, load_audio
from inference.images import animation, middles, too_large
from inference.notice import notice
from inference.source import LIMITS, Limits, Source, as_source
from models.errors import UserError

MOST_FRAMES = 200_000  # decoded to count a stream that does not say its length: two hours
COVER = 0x400  # FFmpeg's disposition of a picture that is attached to a sound


class Video(NamedTuple):
    """Frames as upright RGB PIL images, first to last; sound float32 (samples,) at 16 kHz or None."""

    frames: list
    sound: np.ndarray | None = None


def load_video(source, limits: Limits = LIMITS, sound: bool = False) -> Video:
    """Evenly spaced frames of a video or an animation; fewer if it has fewer.

    Args:
        source: a path, bytes or a binary file object.
        sound: whether to read its sound, too; a damaged one is left out with a notice.

    Raises:
        UserError: no picture in it, damaged, or above a limit.
    """
    file = as_source(source, "video", limits)
    if file is None:
        raise UserError(f"a video must be a path, bytes or a file, not {type(source).__name__}")
    if frames := animation(file, limits.video_frames, limits):
        return Video(frames)
    with container(file, "a video") as opened:
        stream = picture_stream(opened, file, limits)
        images, wide = seek_frames(opened, stream, limits.video_frames), aspect(stream)
        has_sound = bool(opened.streams.audio)
    images = images or count_frames(file, limits, wide)
    if not images:
        raise UserError(f"{file.name} has no frame that can be decoded: it is corrupt")
    return Video(images, sound_of(file, limits) if sound and has_sound else None)


def sound_of(file: Source, limits: Limits) -> np.ndarray | None:
    """What is heard of a clip (samples,); None, with a notice, where it is damaged: the pictures are not."""
    try:
        return load_audio(file.path or file.data, limits)
    except UserError as error:
        notice(f"{error}; its pictures are seen without sound")
        return None


def picture_stream(opened, file: Source, limits: Limits):
    """The track of pictures that a player would show."""
    shown = [stream for stream in opened.streams.video if not int(stream.disposition) & COVER]
    if not shown:
        raise UserError(f"{file.name} has no picture in it, only sound")
    stream = opened.streams.best("video")
    stream = stream if stream in shown else shown[0]
    if stream.codec_context is None:
        raise UserError(f"{file.name}: FFmpeg cannot decode its pictures here")
    if stream.width * stream.height > limits.max_pixels:
        raise too_large(file.name, limits.max_pixels)
    stream.thread_type = "AUTO"
    return stream


def seek_frames(opened, stream, count: int) -> list:
    """Frames at the middles of equal parts of a known duration, by seeking; [] if not possible."""
    import av

    seconds = duration(opened, stream)
    if seconds <= 0 or not stream.time_base:
        return []
    start = float((stream.start_time or 0) * stream.time_base)
    found = {}  # by time: a short video gives the same frame twice
    for part in range(count):
        wanted = start + (part + 0.5) / count * seconds
        try:
            opened.seek(int(wanted / stream.time_base), stream=stream)
        except (av.FFmpegError, OverflowError, OSError):
            return []  # no index, as in a file cut short
        shown = None
        for frame in decode(opened, stream):  # the last frame not after the wanted time
            if frame.time is None or (shown is not None and frame.time > wanted):
                break
            shown = frame
        if shown is not None and shown.time not in found:
            found[shown.time] = upright(shown, aspect(stream))
    if stream.duration is None and len(found) < count:
        return []  # the length is the file's, whose sound may go on for longer
    return [found[time] for time in sorted(found) if found[time] is not None]


def count_frames(file: Source, limits: Limits, wide: float) -> list:
    """Evenly spaced frames of a stream that does not say how long it is: count, then pick."""
    total = sum(1 for _ in all_frames(file, limits))
    picked = set(middles(total, limits.video_frames))
    frames = enumerate(all_frames(file, limits))
    images = (upright(frame, wide) for index, frame in frames if index in picked)
    return [image for image in images if image is not None]


def all_frames(file: Source, limits: Limits) -> Iterator:
    """Every frame from the start, in a container of its own."""
    with container(file, "a video") as opened:
        stream = picture_stream(opened, file, limits)
        for _, frame in zip(range(MOST_FRAMES), decode(opened, stream)):
            yield frame


def decode(opened, stream) -> Iterator:
    """Frames of a track, as far as it is sound."""
    import av

    try:
        yield from opened.decode(stream)
    except (av.FFmpegError, OSError, ValueError):  # what came before is still seen
        return


def aspect(stream) -> float:
    """How many times as wide as high a pixel of a video is; 1 where the file tells nothing sensible."""
    told = float(stream.sample_aspect_ratio or 1)
    return told if 0.25 <= told <= 4 else 1.0


def upright(frame, wide: float):
    """A frame as a PIL image, turned as the phone was and with square pixels; None if damaged."""
    import av
    from PIL import Image

    try:
        image = frame.to_image()
        turn = round(frame.rotation)
    except (av.FFmpegError, ValueError, ArithmeticError, TypeError, MemoryError):
        return None
    if abs(wide - 1) > 0.01:
        image = image.resize((max(round(image.width * wide), 1), image.height), Image.Resampling.BICUBIC)
    return image.rotate(-turn, expand=True) if turn else image


def still_picture(file: Source, limits: Limits):
    """The one picture of a file that only FFmpeg knows, as JPEG XL or OpenEXR."""
    with container(file, "an image") as opened:
        if not opened.format.name.endswith("_pipe") and "jpegxl" not in opened.format.name:
            seen = "is a video: give it with --video" if opened.streams.video else "is not an image"
            raise UserError(f"{file.name} {seen}")
        stream = picture_stream(opened, file, limits)
        image = next((upright(frame, aspect(stream)) for frame in decode(opened, stream)), None)
    if image is None:
        raise UserError(f"{file.name} is not an image, or a corrupt one")
    return image
