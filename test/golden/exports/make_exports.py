"""
Makes the model files of this directory: small exports as training environments write them, without a manifest, for the tests of
`understudy models init`. The weights are random or fitted to random numbers.

    python3 -m venv venv && venv/bin/pip install torch onnx onnxscript onnxruntime scikit-learn skl2onnx lightgbm sentence-transformers
    venv/bin/python test/golden/exports/make_exports.py [NAME ...]

It was run with torch 2.13.0, onnx 1.23.1, onnxscript 0.7.2, scikit-learn 1.9.1, skl2onnx 1.21.0, lightgbm 4.7.0, sentence-transformers
6.0.1.

pipeline   a scaler and a logistic regression of scikit-learn, by skl2onnx: outputs label and probabilities [N, 2];
           features.txt; predictions.csv has rows with the probabilities that scikit-learn predicts
trees      a LightGBM classifier, converted by models/tree_graph.py: the sum is a logit; train.csv has labels and empty cells
encoders   a head that reads features, the vector of a sentence-transformers model in the folder that its library writes, and that of
           an image encoder with its preprocessor_config.json; golden.json was computed by the libraries, not by the ONNX files
"""

import csv
import hashlib
import json
import pathlib
import shutil
import sys

import numpy as np

from make_heads import NAMES, TARGET, float_input, rows, with_gaps, without_traces

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent.parent.parent / "models"))


def pipeline(directory):
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*rows(400, 1))
    graph = to_onnx(model, initial_types=float_input(), options={"zipmap": False}, target_opset=TARGET)
    (directory / "model.onnx").write_bytes(graph.SerializeToString())
    (directory / "features.txt").write_text("# in the order of the columns\n" + "\n".join(NAMES) + "\n")
    x, _ = rows(6, 2)
    write_csv(directory / "predictions.csv", [*NAMES, "p_views"], np.column_stack([x, model.predict_proba(x)[:, 1]]))


def trees(directory):
    import lightgbm
    from tree_graph import lightgbm_trees, save_trees

    x, y = rows(400, 3)
    x = with_gaps(x, 4)
    options = dict(n_estimators=6, num_leaves=6, random_state=1, n_jobs=1, verbose=-1)
    model = lightgbm.LGBMClassifier(**options).fit(x, y)
    save_trees(lightgbm_trees(model.booster_), 4, directory / "p_up.onnx")
    write_csv(directory / "train.csv", [*NAMES, "saved"], np.column_stack([x, y])[:40])


def write_csv(file, names, table):
    with file.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(names)
        # Each value as the double that it equals.
        writer.writerows([["" if np.isnan(value) else repr(float(value)) for value in row] for row in table])


def encoders(directory):
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(5)
    lines = ["오늘 진짜 대박", "사진 봐라 ㅋㅋㅋ", "plain ASCII title 1234", "후기 글 입니다", "漢字とかな"]
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer(lowercase=True)
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=160, special_tokens=special))
    trained.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    made = directory / "made"
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=trained, model_max_length=64, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_input_names=["input_ids", "token_type_ids", "attention_mask"])
    tokenizer.save_pretrained(made)
    BertModel(BertConfig(
        vocab_size=trained.get_vocab_size(), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64)).save_pretrained(made)
    text = SentenceTransformer(
        modules=[transformer := Transformer(str(made), max_seq_length=48), Pooling(16, pooling_mode="mean"), Normalize()],
        device="cpu").eval()
    text.save(str(directory / "text"), create_model_card=False)
    shutil.rmtree(made)
    (directory / "text/model.safetensors").unlink()

    class Encoder(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask, token_type_ids):
            return self.model(
                input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state

    bert = next(module for module in transformer.modules() if isinstance(module, BertModel))
    sample = tokenizer(["하나", "하나 둘 셋"], padding=True, return_tensors="pt")
    dims = {0: "N", 1: "tokens"}
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    (directory / "text/onnx").mkdir()
    torch.onnx.export(
        Encoder(bert).eval(), tuple(sample[name] for name in inputs), directory / "text/onnx/model.onnx", input_names=inputs,
        output_names=["last_hidden_state"], dynamic_shapes={name: dims for name in inputs}, external_data=False)

    image = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 8, stride=8), torch.nn.Tanh(), torch.nn.AdaptiveAvgPool2d(1),
                                torch.nn.Flatten()).eval()
    (directory / "image").mkdir()
    torch.onnx.export(
        image, (torch.zeros(2, 3, 32, 32),), directory / "image/model.onnx", input_names=["pixel_values"],
        output_names=["image_embeds"], dynamic_shapes=({0: "N"},), external_data=False)
    preprocessor = dict(
        crop_size=dict(height=32, width=32), do_center_crop=True, do_convert_rgb=True, do_normalize=True, do_rescale=True,
        do_resize=True, image_mean=[0.48145466, 0.4578275, 0.40821073], image_processor_type="CLIPImageProcessor",
        image_std=[0.26862954, 0.26130258, 0.27577711], resample=3, rescale_factor=1 / 255, size=dict(shortest_edge=32))
    (directory / "image/preprocessor_config.json").write_text(json.dumps(preprocessor, indent=2) + "\n")

    class Head(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4 + 16 + 8, 3)

        def forward(self, features, text_embedding, image_embedding):
            return torch.sigmoid(self.layer(torch.cat([features / 10, text_embedding, image_embedding], dim=1)))

    head = Head().eval()
    names = ["features", "text_embedding", "image_embedding"]
    torch.onnx.export(
        head, (torch.zeros(2, 4), torch.zeros(2, 16), torch.zeros(2, 8)), directory / "head.onnx", input_names=names,
        output_names=["probs"], dynamic_shapes=({0: "N"},) * 3, external_data=False)

    pixels, picture = draw(directory / "golden/1.jpg", preprocessor)
    x, _ = rows(4, 6)
    cases = []
    for index, (title, body) in enumerate([(lines[0], lines[1]), (lines[2], ""), (lines[3], lines[4]), ("글", "")]):
        with torch.no_grad():
            text_vector = torch.tensor(text.encode([f"{title}\n{body}"]))
            image_vector = image(pixels) if index == 0 else torch.zeros(1, 8)
            heads = head(torch.tensor(x[index:index + 1]), text_vector, image_vector)[0]
        cases.append({
            "features": {name: float(value) for name, value in zip(NAMES, x[index])},
            "record": {"title": title, **({"body_html": f"<p>{body}</p>"} if body else {})},
            **({"images": [picture]} if index == 0 else {}),
            "heads": {name: float(value) for name, value in zip(["p_views", "p_comments", "p_up"], heads)}})
    tokens = [{"text": line, "ids": tokenizer(line)["input_ids"]} for line in lines]
    golden = {"cases": cases, "golden_tokens": tokens}
    (directory / "from-training.json").write_text(json.dumps(golden, ensure_ascii=False, indent=1) + "\n")
    (directory / "features.csv").write_text(",".join(["cycle_id", "gall_id", "post_no", *NAMES]) + "\n")


def draw(file, preprocessor):
    """A picture of 32 by 32 pixels, which is not resized, as the encoder reads it, and its entry in a golden case."""
    import torch
    from PIL import Image

    file.parent.mkdir()
    y, x = np.mgrid[0:32, 0:32]
    Image.fromarray(np.stack([8 * x, 8 * y, 4 * (x + y)], axis=2).astype(np.uint8)).save(file, quality=90)
    values = np.asarray(Image.open(file)).astype(np.float32) / 255
    values = (values - preprocessor["image_mean"]) / preprocessor["image_std"]
    entry = {"file": "golden/1.jpg", "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    return torch.tensor(values.transpose(2, 0, 1)[None], dtype=torch.float32), entry


for make in [pipeline, trees, encoders]:
    if make.__name__ not in (sys.argv[1:] or [make.__name__]):
        continue
    directory = here / make.__name__
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    make(directory)
    for file in directory.rglob("*.onnx"):
        without_traces(file)
