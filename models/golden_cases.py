"""
Computes golden cases for a model package in the training environment. `understudy models init` copies this file into the package.
Needs numpy and onnxruntime; for texts also tokenizers, for images also pillow.

    understudy models features --json > catalogue.json
    python3 golden_cases.py ROWS.csv [--catalogue catalogue.json] [--cases 20] [--out from-training.json]
    understudy models init PACKAGE --golden from-training.json

ROWS.csv has a header, and rows of the training, with these columns in any order:

- every feature of the manifest, by name. An empty cell is a missing value, and null in the case. A model reads NaN for it if the
  manifest has "missing": "nan", else the value of the catalogue, for which the file --catalogue is needed.
- title and body_html, if the model reads texts; images, if it reads images: JPEG files in the package, separated by spaces.
- gall_id, if a head reads the index of the gallery. The manifest must have the list galleries.
- p_views, p_comments, p_up, downvote_share: the predictions of the training for that row, if you have them. The cases then have these
  values, so that they show that the exported files compute what the model computed in training. Without them the ONNX files compute the
  values, and the cases show only that the service computes the same as this environment.

It reads manifest.json beside it: correct the manifest first, then run this again.
"""

import argparse
import csv
import hashlib
import html.parser
import json
import pathlib
import re

import numpy as np
import onnxruntime

HEADS = ["p_views", "p_comments", "p_up", "downvote_share"]
PACKAGE = pathlib.Path(__file__).resolve().parent


def main():
    arguments = argparse.ArgumentParser(description="Computes golden cases in the training environment.")
    arguments.add_argument("rows")
    arguments.add_argument("--catalogue", help="the result of `understudy models features --json`")
    arguments.add_argument("--cases", type=int, default=20)
    arguments.add_argument("--out", default="from-training.json")
    options = arguments.parse_args()
    manifest = json.loads((PACKAGE / "manifest.json").read_text(encoding="utf-8"))
    with open(options.rows, newline="", encoding="utf-8-sig") as lines:
        rows = list(csv.DictReader(lines))
    if not rows:
        raise SystemExit(f"{options.rows} has no rows")
    # Evenly spread, so that a sorted table gives different cases.
    chosen = sorted({round(index) for index in np.linspace(0, len(rows) - 1, min(options.cases, len(rows)))})
    rows = [rows[index] for index in chosen]
    names = [feature if isinstance(feature, str) else feature_name(feature) for feature in manifest.get("features", [])]
    lacking = [name for name in names if name not in rows[0]]
    if lacking:
        raise SystemExit(f"{options.rows} has no column {', '.join(lacking)}")
    features = np.array([[cell(row[name]) for name in names] for row in rows], dtype=np.float32).reshape(len(rows), len(names))
    served = features if manifest.get("missing") == "nan" else imputed(features, names, options.catalogue)
    cases, vectors = [], {}
    tokens = Texts(manifest["text"], missing(manifest["text"], manifest)) if "text" in manifest else None
    pictures = Images(manifest["image"], missing(manifest["image"], manifest)) if "image" in manifest else None
    if tokens:
        vectors["text"] = np.stack([tokens.vector(row) for row in rows])
    if pictures:
        vectors["image"] = np.stack([pictures.vector(row) for row in rows])
    if "galleries" in manifest:
        if "gall_id" not in rows[0]:
            raise SystemExit(f"{options.rows} has no column gall_id")
        index = {gallery: number for number, gallery in enumerate(manifest["galleries"], start=1)}
        vectors["gallery_index"] = np.array([[index.get(row["gall_id"], 0)] for row in rows])
    computed = predict(manifest, served, vectors)
    for index, row in enumerate(rows):
        given = {head: cell(row[head]) for head in computed if row.get(head)}
        heads = {head: float(given.get(head, values[index])) for head, values in computed.items()}
        case = {"name": f"row {chosen[index] + 1} of {pathlib.Path(options.rows).name}"}
        if names:
            case["features"] = {name: None if np.isnan(value) else float(value) for name, value in zip(names, features[index])}
        if "galleries" in manifest:
            case["gall_id"] = row["gall_id"]
        if tokens and row.get("title"):
            case["record"] = {"title": row["title"], **({"body_html": row["body_html"]} if row.get("body_html") else {})}
        if pictures and row.get("images"):
            case["images"] = [{"file": file, "sha256": sha256(PACKAGE / file)} for file in row["images"].split()]
        cases.append({**case, "heads": heads})
    compare(computed, rows)
    stated = {} if "missing" in manifest.get("draft", []) else {"missing": manifest.get("missing", "imputed")}
    golden = {**stated, "cases": cases, **({"golden_tokens": tokens.golden(rows)} if tokens else {})}
    pathlib.Path(options.out).write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{len(cases)} cases written to {options.out}: understudy models init {PACKAGE} --golden {options.out}")


def imputed(features, names, catalogue):
    """The features as the service passes them: the value of the catalogue in place of a missing one."""
    if not np.isnan(features).any():
        return features
    if catalogue is None:
        raise SystemExit('a row has an empty cell: write "missing": "nan" into the manifest if the training had NaN there; '
                         "else pass the result of `understudy models features --json` as --catalogue")
    known = {one["name"]: one["missing"] for one in json.loads(pathlib.Path(catalogue).read_text(encoding="utf-8"))}
    filled = features.copy()
    for column, name in enumerate(names):
        empty = np.isnan(features[:, column])
        value = missing_value(name, known)
        if value is None and empty.any():
            raise SystemExit(f"{name} has an empty cell, but the service always has a value for it")
        filled[empty, column] = value
    return filled


def missing_value(name, known):
    """None: the service always has a value."""
    if name in known:
        return known[name]
    value = known[name.removeprefix("log1p(").removesuffix(")")]
    return None if value is None else np.sign(value) * np.log1p(abs(value))


def predict(manifest, features, vectors):
    """The heads of all rows by the ONNX files. Replace it with the network of the training to test the export too."""
    computed = {}
    matrices = {"features": features, **vectors}
    graphs = manifest["head"] if isinstance(manifest["head"], list) else [manifest["head"]]
    for graph in graphs:
        session = onnxruntime.InferenceSession(str(PACKAGE / graph["file"]), providers=["CPUExecutionProvider"])
        feeds = {}
        for matrix, names in graph["inputs"].items():
            feeds.update([(names, matrices[matrix])] if isinstance(names, str) else split(session, names, features))
        size = graph.get("batch", len(features))
        for head, output in graph["outputs"].items():
            parts = [run(session, feeds, output, start, size) for start in range(0, len(features), size)]
            computed[head] = np.concatenate(parts)[:len(features)]
    return {head: computed[head] for head in HEADS if head in computed}


def split(session, names, features):
    """The inputs of a list: each takes as many features as it has columns; the only one that does not state them takes the rest."""
    shapes = {port.name: port.shape for port in session.get_inputs()}
    widths = [1 if len(shapes[name]) == 1 else shapes[name][1] for name in names]
    known = [width for width in widths if isinstance(width, int)]
    rest = features.shape[1] - sum(known) if len(known) == len(names) - 1 else 1
    ends = np.cumsum([width if isinstance(width, int) else rest for width in widths])
    return zip(names, np.split(features, ends[:-1], axis=1))


def run(session, feeds, output, start, size):
    """One run of `size` rows; the last row fills it up."""
    ports = {port.name: port for port in session.get_inputs()}
    some = {}
    for name, values in feeds.items():
        rows = np.minimum(np.arange(start, start + size), len(values) - 1)
        part = values[rows].reshape(size) if len(ports[name].shape) == 1 else values[rows]
        some[name] = typed(part, ports[name].type)
    return share(session.run([output["name"]], some)[0].astype(np.float64), output, size)


def share(values, output, row_count):
    """The column of a head, as the manifest describes it."""
    if output.get("transposed"):
        values = np.moveaxis(values, -1, 0)
    values = values.reshape(row_count, -1)
    values = values * output.get("scale", 1) + output.get("offset", 0)
    column, activation = output.get("column", 0), output.get("activation")
    if activation == "softmax":
        powers = np.exp(values - values.max(axis=1, keepdims=True))
        values = powers / powers.sum(axis=1, keepdims=True)
    values = values[:, column]
    if activation == "sigmoid":
        return 1 / (1 + np.exp(-values))
    return np.clip(values, 0, 1) if activation == "clip" else values


def compare(computed, rows):
    for head, values in computed.items():
        given = np.array([cell(row.get(head) or "") for row in rows])
        if np.isnan(given).any():
            print(f"{head}: computed by the ONNX files; add a column {head} with the predictions of the training")
        else:
            print(f"{head}: predictions of the training and of the ONNX files differ by at most {np.abs(given - values).max():.2g}")


class Texts:
    """The text encoder, with the tokenizer of the training."""

    def __init__(self, text, missing_value):
        from tokenizers import Tokenizer

        self.text, self.missing_value = text, missing_value
        self.tokenizer = Tokenizer.from_file(str(PACKAGE / text["tokenizer"]["file"]))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.session = onnxruntime.InferenceSession(str(PACKAGE / text["file"]), providers=["CPUExecutionProvider"])

    def filled(self, row):
        body = text_of(row.get("body_html") or "")
        return re.sub(r"\{(title|body)\}", lambda found: {"title": row["title"], "body": body}[found[1]], self.text["template"])

    def vector(self, row):
        if not row.get("title"):
            return np.full(self.text["dim"], self.missing_value, dtype=np.float32)
        self.tokenizer.enable_truncation(self.text["tokens_max"])
        encoding = self.tokenizer.encode(self.filled(row))
        self.tokenizer.no_truncation()
        names = {name: name for name in ["input_ids", "attention_mask", "token_type_ids"]} | self.text.get("inputs", {})
        values = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask, "token_type_ids": encoding.type_ids}
        known = {port.name for port in self.session.get_inputs()}
        repeat = self.text.get("batch", 1)
        feeds = {name: np.array([values[role]] * repeat, dtype=np.int64) for role, name in names.items() if name in known}
        output = self.session.run([self.text.get("output", "last_hidden_state")], feeds)[0][0].astype(np.float64)
        if output.ndim == 2:
            output = output.mean(axis=0) if self.text["pooling"] == "mean" else output[0]
        if self.text.get("normalize"):
            output = output / max(np.linalg.norm(output), 1e-30)
        return output.astype(np.float32)

    def golden(self, rows):
        texts = list(dict.fromkeys(self.filled(row) for row in rows if row.get("title")))
        return [{"text": text, "ids": self.tokenizer.encode(text).ids} for text in texts]


class BodyText(html.parser.HTMLParser):
    """The text of simple bodies. If bodies have more than paragraphs and line breaks, use the function of the training."""

    blocks = {"p", "div", "br", "li", "td", "tr", "h1", "h2", "h3", "h4", "ul", "ol", "table", "blockquote"}
    hidden = {"script", "style", "iframe", "video", "svg"}

    def __init__(self):
        super().__init__()
        self.parts, self.depth = [], 0

    def handle_starttag(self, tag, attrs):
        self.depth += tag in self.hidden
        self.parts += ["\n"] if tag in self.blocks else []

    def handle_endtag(self, tag):
        self.depth -= tag in self.hidden
        self.parts += ["\n"] if tag in self.blocks else []

    def handle_data(self, data):
        self.parts += [] if self.depth else [re.sub(r"\s+", " ", data)]


def text_of(body):
    parser = BodyText()
    parser.feed(body)
    parser.close()
    lines = [re.sub(r" +", " ", line).strip() for line in "".join(parser.parts).split("\n")]
    return "\n".join(line for line in lines if line)


class Images:
    """The image encoder, with the image library of the training."""

    def __init__(self, image, missing_value):
        self.image, self.missing_value = image, missing_value
        self.session = onnxruntime.InferenceSession(str(PACKAGE / image["file"]), providers=["CPUExecutionProvider"])

    def vector(self, row):
        files = (row.get("images") or "").split()
        if not files:
            return np.full(self.image["dim"], self.missing_value, dtype=np.float32)
        vectors = [self.encode(PACKAGE / file) for file in files]
        return (np.max if self.image["pooling"] == "max" else np.mean)(vectors, axis=0).astype(np.float32)

    def encode(self, file):
        from PIL import Image, ImageOps

        filters = {"nearest": 0, "lanczos3": 1, "bilinear": 2, "bicubic": 3}
        picture = Image.open(file).convert("RGB")
        resize, pad, crop = self.image["resize"], self.image.get("pad"), self.image.get("crop")
        size = (resize["width"], resize["height"]) if "width" in resize else shortest(picture.size, resize["shortest_edge"])
        resample = filters[self.image.get("interpolation", "bicubic")]
        if pad:
            place = {"end": 0, "both": 0.5, "start": 1}[pad["side"]]
            picture = ImageOps.pad(picture, size, resample, tuple(pad["color"]), (place, place))
        else:
            picture = picture.resize(size, resample)
        if crop:
            left, top = (size[0] - crop["width"]) // 2, (size[1] - crop["height"]) // 2
            picture = picture.crop((left, top, left + crop["width"], top + crop["height"]))
        pixels = np.asarray(picture)[:, :, ::-1 if self.image.get("channels") == "bgr" else 1]
        values = pixels
        if "mean" in self.image:
            values = (pixels * self.image.get("scale", 1 / 255) - self.image["mean"]) / self.image["std"]
        values = values if self.image.get("layout") == "nhwc" else values.transpose(2, 0, 1)
        values = np.stack([values] * self.image.get("batch", 1))
        feeds = {self.image["input"]: typed(values, self.session.get_inputs()[0].type)}
        output = self.session.run([self.image["output"]], feeds)[0][0]
        if output.ndim == 3:
            return output.mean(axis=(1, 2))
        if output.ndim == 2:
            return output.mean(axis=0) if self.image["pool"] == "mean" else output[0]
        return output


def shortest(size, edge):
    width, height = size
    return (edge, edge * height // width) if width <= height else (edge * width // height, edge)


def missing(encoder, manifest):
    default = "nan" if manifest.get("missing") == "nan" else "zeros"
    return np.nan if encoder.get("missing_embedding", default) == "nan" else 0


def feature_name(feature):
    return feature["name"] if feature["transform"] == "raw" else f"{feature['transform']}({feature['name']})"


def cell(text):
    return float(text) if text.strip() else np.nan


def typed(values, kind):
    types = {"double": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32, "uint8": np.uint8}
    return values.astype(types.get(kind.removeprefix("tensor(").removesuffix(")"), np.float32))


def sha256(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    main()
