"""Pictures from whatever Pillow opens, HEIC through pillow-heif, the rest through FFmpeg.

The content decides, never the name. An animation or a multi-page file shows its first frame.
"""

import io
import warnings
from contextlib import suppress

import numpy as np

from inference.notice import Notice, notice
from inference.source import LIMITS, Limits, Source, as_source
from models.errors import UserError, needed

# EPS starts Ghostscript; the others are stubs that only a plug-in could read.
NOT_OPENED = {"EPS", "WMF", "GRIB", "BUFR", "HDF5", "FITS", "MPEG"}
HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")


def load_image(source, limits: Limits = LIMITS):
    """A picture as an upright RGB PIL image, clear parts on white.

    Args:
        source: a path, bytes, a binary file object, a PIL image, or a uint8 array
            (H, W[, 1|3|4]).

    Raises:
        UserError: not a picture, damaged, or above a limit.
    """
    from PIL import Image

    if isinstance(source, Image.Image):
        return decoded(source, "the image", limits)
    file = as_source(source, "image", limits)
    if file is None:
        return decoded(from_array(source), "the image", limits)
    with warnings.catch_warnings():  # large but under the limit: read it quietly
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", Notice)
        with file.open() as stream:
            image = opened(stream, file, limits)
            if image is not None:
                with image:
                    return decoded(image, file.name, limits)
    from inference.video import still_picture  # JPEG XL, OpenEXR, DPX, … : what FFmpeg knows more

    return decoded(still_picture(file, limits), file.name, limits)


def opened(stream, file: Source, limits: Limits):
    """The PIL image of a stream, not yet decoded; None where Pillow does not know the format."""
    from PIL import Image

    Image.init()
    formats = [name for name in Image.ID if name not in NOT_OPENED]
    head = stream.read(12)
    if is_heif(head) and "HEIF" not in formats:
        needed("pillow_heif", f"the HEIC picture {file.name}", "pillow-heif").register_heif_opener()
        formats.append("HEIF")
    stream.seek(0)
    if head[:4] + head[8:] == b"RIFFWEBP":
        stream = whole_webp(stream.read(), file.name)
    try:
        return Image.open(stream, formats=formats)
    except Image.UnidentifiedImageError:
        return None
    except Image.DecompressionBombError:
        bomb = 2 * (Image.MAX_IMAGE_PIXELS or 0)  # Pillow's own limit
        raise too_large(file.name, min(limits.max_pixels, bomb)) from None
    except Exception as error:  # noqa: BLE001 (damaged files make Pillow raise nearly anything)
        raise UserError(f"{file.name} is corrupt: {error}") from None


def is_heif(head: bytes) -> bool:
    """Whether a file that begins so is HEIC, as phones write pictures."""
    return head[4:8] == b"ftyp" and head[8:12] in HEIF_BRANDS


def whole_webp(data: bytes, name: str) -> io.BytesIO:
    """A WebP, of a cut one its whole chunks: the decoder takes no file that ends within a frame."""
    if len(data) >= 8 + int.from_bytes(data[4:8], "little"):
        return io.BytesIO(data)
    end, kinds = 12, set()
    while (size := int.from_bytes(data[end + 4 : end + 8], "little")) <= len(data) - end - 8:
        kinds.add(data[end : end + 4])
        end += 8 + size + size % 2
    if not kinds & {b"VP8 ", b"VP8L", b"ANMF"}:
        raise UserError(f"{name} is corrupt: it ends within its first picture")
    return io.BytesIO(data[:4] + (end - 8).to_bytes(4, "little") + data[8:end])


def decoded(image, name: str, limits: Limits):
    """All pixels of the first frame, so that a broken file fails here -> upright RGB."""
    from PIL import Image

    from models.image import upright_rgb  # torch: loaded only once a picture is read

    if image.width * image.height > limits.max_pixels:
        raise too_large(name, limits.max_pixels)
    try:
        with suppress(EOFError):  # a Photoshop file begins with its whole, which is no frame
            image.seek(0)
        load_pixels(image, name)
        return upright_rgb(eight_bits(image))
    except (Image.DecompressionBombError, MemoryError):
        raise too_large(name, min(limits.max_pixels, image.width * image.height - 1)) from None
    except Exception as error:  # noqa: BLE001 (damaged files make Pillow raise nearly anything)
        raise UserError(f"{name} is corrupt: {str(error) or type(error).__name__}") from None


def load_pixels(image, name: str) -> None:
    """Decode; of a file whose end is missing what is there, with a notice."""
    from PIL import ImageFile

    try:
        image.load()
    except OSError as error:
        if "truncated" not in str(error):
            raise
        ImageFile.LOAD_TRUNCATED_IMAGES = True  # Pillow has no other way to ask for it
        try:
            image.load()
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False
        if image.convert("RGB").getcolors(1):  # nothing but the ground was decoded
            raise
        notice(f"{name} ends too soon: a part of the picture is missing")


def eight_bits(image):
    """Deep greys scaled to 8 bits, where Pillow would clip them to white; others as they are.

    White is the least of 255 and 65,535 that no value exceeds, else the largest value: wide numbers
    often hold narrow ones. Floats below 2 end at 1, which resampling overshoots. Below 0 is black.
    """
    from PIL import Image

    if not image.mode.startswith(("I", "F")):
        return image
    values = np.nan_to_num(np.asarray(image).astype(np.float32), posinf=0.0, neginf=0.0)  # (H, W)
    top = values.max()
    white = 1 if image.mode == "F" and top < 2 else next(w for w in (255, 65_535, top) if top <= w)
    values = (values * 255 / white).clip(0, 255)
    grey = Image.fromarray(values.astype(np.uint8))
    with suppress(Exception):  # damaged EXIF: the pixels are sound
        grey.info["exif"] = image.getexif().tobytes()  # says which side is up
    return grey


def from_array(source):
    """A PIL image of a uint8 array (H, W[, 1|3|4])."""
    from PIL import Image

    array = np.asarray(source)
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or 0 in array.shape:
        raise UserError(
            "an image must be a path, bytes, a file, a PIL image or a uint8 array of shape "
            f"(height, width[, channels]), not {array.dtype} of {array.shape}"
        )
    array = array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array
    if array.ndim == 3 and array.shape[2] not in (3, 4):
        raise UserError(f"an image array has 1, 3 or 4 channels in last place, not {array.shape}")
    return Image.fromarray(array)


def animation(file: Source, count: int, limits: Limits) -> list:
    """Evenly spaced frames of an animated or multi-page picture, or the one; [] when it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with file.open() as stream:
            try:
                image = opened(stream, file, limits)
            except UserError:  # FFmpeg, asked next, has the last word
                return []
            if image is None or image.width * image.height > limits.max_pixels:
                return []
            total = 1  # of a cut file, whose frames cannot be counted, and of one picture
            with suppress(Exception):
                total = image.n_frames
            return [frame for index in middles(total, count) if (frame := page(image, index))]


def page(image, index: int):
    """One frame as RGB; None where the file is damaged there."""
    from models.image import upright_rgb

    try:
        image.seek(index)
        return upright_rgb(eight_bits(image))
    except Exception:  # noqa: BLE001 (damaged from here on: what came before is still seen)
        return None


def middles(total: int, count: int) -> list[int]:
    """Indices at the middles of `count` equal parts of `total`; fewer where it has fewer."""
    return sorted({int((part + 0.5) / count * total) for part in range(count)})


def too_large(name: str, pixels: int) -> UserError:
    return UserError(f"{name} has more than {pixels:,} pixels: make it smaller first")
