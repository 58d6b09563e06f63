"""Images as the vision encoder reads them: upright, RGB, on white, 224 × 224."""

import numpy as np
import torch
from PIL import Image
from torch import Tensor

IMAGE_SIZE = 224  # pixels, height and width
TRIM_SIZE = 512  # pixels, the longer side of the copy in which plain margins are found
PLAIN = 12  # of 255: colours no farther apart than JPEG makes them are one
ORIENTATION = 0x0112  # EXIF's tag
TURNS = {  # EXIF orientation -> how the picture is turned upright
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def image_to_tensor(image: Image.Image, trim: bool = True) -> Tensor:
    """Any PIL image as the encoder wants it: upright, on white, 224².

    A picture that is not square first loses plain margins at its longer ends, down to a square, so
    that what stands on them keeps its proportions. What is then still longer is squeezed: the
    encoder is trained on squeezed pictures.

    Args:
        trim: False keeps margins, so that things stay where they are from frame to frame.

    Returns:
        uint8 (3, 224, 224).
    """
    image = upright_rgb(image)
    if trim and image.width != image.height:
        image = trim_ends(image)
    image = image.resize((IMAGE_SIZE, IMAGE_SIZE), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)  # (3, 224, 224)


def upright_rgb(image: Image.Image) -> Image.Image:
    """Turned as EXIF says, clear parts on white, RGB. EXIF that cannot be read is ignored."""
    try:
        turn = TURNS.get(image.getexif().get(ORIENTATION))
    except Exception:  # noqa: BLE001 (Pillow raises nearly anything; the pixels may be sound)
        turn = None
    if turn is not None:
        image = image.transpose(turn)
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    plain = image.convert("RGB")
    return Image.frombytes("RGB", plain.size, plain.tobytes())  # without EXIF: turned once only


def trim_ends(image: Image.Image) -> Image.Image:
    """Cut plain margins at both ends of the longer side, down to a square at most."""
    tall, (short, long) = image.height > image.width, sorted(image.size)
    scale = max(long / TRIM_SIZE, 1.0)  # margins are looked for in a small copy
    sizes = [max(round(side / scale), 1) for side in image.size]
    pixels = np.asarray(image.resize(sizes, Image.Resampling.BOX), np.int16)  # (h, w, 3)
    lines = pixels if tall else pixels.swapaxes(0, 1)  # (long, short, 3)
    first = int(max(plain_run(lines) - 1, 0) * scale)
    last = long - int(max(plain_run(lines[::-1]) - 1, 0) * scale)
    if first >= last:  # plain all over
        first = last = long // 2
    spare = max(short - (last - first), 0)  # margin that stays: the picture becomes a square
    size = max(short, last - first)
    first = min(max(first - spare // 2, 0), long - size)
    return image.crop((0, first, short, first + size) if tall else (first, 0, first + size, short))


def plain_run(lines: np.ndarray) -> int:
    """How many lines from the first one on have one colour, that of its middle. (n, m, 3)"""
    colour = np.median(lines[0], axis=0)  # (3,)
    off = np.abs(lines - colour).max(axis=(1, 2)) > PLAIN  # (n,)
    return int(off.argmax()) if off.any() else len(lines)
