"""Computes test/golden/resize/pillow-resize.json: pictures resized by Pillow, as training code resizes them.

Run by hand with Debian's python3-pil: /usr/bin/python3 test/golden/resize/pillow_resize.py
"""

import base64
import hashlib
import io
import json
import pathlib

import PIL
from PIL import Image, ImageOps

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos3": Image.Resampling.LANCZOS,
}


def noise(width, height):
    """The pixels of `noise` in test/helpers/jpeg.ts."""
    state, data = 1, bytearray()
    for _ in range(width * height * 3):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        data.append((state >> 16) & 255)
    return Image.frombytes("RGB", (width, height), bytes(data))


def picture(width, height):
    """Slopes, an edge and a few circles: JPEG keeps them, and a shift by a part of a pixel changes them."""
    image = Image.new("RGB", (width, height))
    image.putdata(
        [
            (
                255 * x // width,
                255 * y // height,
                255 if (x - width // 3) ** 2 + (y - height // 2) ** 2 < (width // 5) ** 2 else (x * y) % 200,
            )
            for y in range(height)
            for x in range(width)
        ]
    )
    return image


def digest(image):
    return hashlib.sha256(image.convert("RGB").tobytes()).hexdigest()


# From, to: larger, smaller, both, the same in one direction, odd sizes, one pixel.
SIZES = [
    ((7, 5), (21, 15)),
    ((23, 17), (16, 16)),
    ((90, 61), (18, 15)),
    ((31, 47), (64, 33)),
    ((33, 20), (33, 50)),
    ((40, 40), (13, 40)),
    ((1, 1), (5, 3)),
    ((3, 1), (2, 9)),
    ((222, 333), (224, 336)),
    ((640, 427), (335, 224)),
    ((50, 50), (50, 50)),
]
resized = []
for source, target in SIZES:
    image = noise(*source)
    resized.append(
        {
            "from": source,
            "to": target,
            "sha256": {name: digest(image.resize(target, resample)) for name, resample in FILTERS.items()},
        }
    )

# JPEGs, as Hugging Face's processors prepare them: the shortest edge, then the middle.
prepared = []
for width, height, mode, quality in (
    (222, 333, "RGB", 90),
    (333, 222, "RGB", 75),
    (225, 224, "RGB", 90),
    (451, 301, "RGB", 85),
    (101, 77, "L", 90),
):
    file = io.BytesIO()
    picture(width, height).convert(mode).save(file, "JPEG", quality=quality)
    image = Image.open(io.BytesIO(file.getvalue())).convert("RGB")
    for edge, crop in ((224, (224, 224)), (256, (224, 224)), (97, (64, 96))):
        short, long = min(width, height), max(width, height)
        longer = int(edge * long / short)
        size = (edge, longer) if width <= height else (longer, edge)
        left, top = (size[0] - crop[0]) // 2, (size[1] - crop[1]) // 2
        box = (left, top, left + crop[0], top + crop[1])
        prepared.append(
            {
                "size": [width, height],
                "jpeg": base64.b64encode(file.getvalue()).decode(),
                "shortest_edge": edge,
                "crop": crop,
                "sha256": {
                    name: digest(image.resize(size, resample).crop(box)) for name, resample in FILTERS.items()
                },
            }
        )

# Fitted into a size with padding. From, to; wider, higher, the same ratio, halves of pixels, one pixel.
SIDES = {"start": (1, 1), "end": (0, 0), "both": (0.5, 0.5)}
PADDINGS = [
    ((90, 61), (64, 64)),
    ((31, 47), (64, 64)),
    ((320, 24), (100, 32)),
    ((33, 20), (66, 40)),
    ((50, 25), (25, 50)),
    ((7, 5), (30, 20)),
    ((200, 4), (32, 32)),
]
padded = []
for source, target in PADDINGS:
    image = noise(*source)
    for side, centering in SIDES.items():
        fitted = ImageOps.pad(image, target, Image.Resampling.BICUBIC, color=(10, 20, 250), centering=centering)
        padded.append({"from": source, "to": target, "side": side, "sha256": digest(fitted)})

# Each JPEG is written once: the cases name it by its index.
jpegs = list(dict.fromkeys(case["jpeg"] for case in prepared))
for case in prepared:
    case["jpeg"] = jpegs.index(case["jpeg"])
path = pathlib.Path(__file__).with_name("pillow-resize.json")
values = {"pillow": PIL.__version__, "resized": resized, "padded": padded, "jpegs": jpegs, "prepared": prepared}
path.write_text(json.dumps(values, indent=2) + "\n")
