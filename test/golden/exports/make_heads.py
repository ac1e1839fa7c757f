"""
Makes the graphs in heads/: small exports of heads as the libraries of training write them, each with features.txt (unless its inputs
are named for the features) and with from-training.json: rows with the heads that the training library computes. Only those of a
quantised graph are computed by onnxruntime, a row at a time. The models are fitted to random numbers.

    python3 -m venv venv && venv/bin/pip install torch onnx onnxscript onnxruntime scikit-learn pandas lightgbm xgboost \
        skl2onnx onnxmltools onnxconverter-common
    venv/bin/python test/golden/exports/make_heads.py

It was run with torch 2.13.0, onnx 1.23.1, onnxscript 0.7.2, onnxruntime 1.30.0, scikit-learn 1.9.1, pandas 3.0.6, lightgbm 4.7.0,
xgboost 1.7.4, skl2onnx 1.21.0, onnxmltools 1.17.0, onnxconverter-common 1.17.0.
"""

import json
import pathlib
import shutil

import numpy as np
import onnx

NAMES = ["views_log", "up_log", "up_per_view", "created_age_log"]
HEADS = ["p_views", "p_comments", "p_up"]
heads_folder = pathlib.Path(__file__).parent / "heads"


def rows(count, seed):
    random = np.random.default_rng(seed)
    views = np.floor(np.exp(random.uniform(0, 9, count)))
    up = np.floor(views * random.uniform(0, 0.1, count))
    columns = [np.log1p(views), np.log1p(up), up / np.maximum(views, 1), np.log1p(random.uniform(0, 86400, count))]
    liked = random.uniform(0, 1, count) < 1 / (1 + np.exp(-(40 * columns[2] - 2)))
    return np.stack(columns, axis=1).astype(np.float32), liked.astype(int)


def with_gaps(x, seed):
    return np.where(np.random.default_rng(seed).uniform(size=x.shape) < 0.1, np.nan, x).astype(np.float32)


def write_golden(directory, x, names, heads):
    """`heads`: a column for each name."""
    cases = [
        {"features": {name: None if np.isnan(value) else float(value) for name, value in zip(NAMES, row)},
         "heads": {name: float(value) for name, value in zip(names, values)}}
        for row, values in zip(x, np.asarray(heads).reshape(len(x), -1))]
    lines = ",\n".join(json.dumps(case) for case in cases)
    (directory / "from-training.json").write_text(f'{{"cases": [\n{lines}\n]}}\n')


def write_features(directory):
    (directory / "features.txt").write_text("\n".join(NAMES) + "\n")


# scikit-learn, LightGBM, XGBoost

TARGET = {"": 17, "ai.onnx.ml": 3}


def float_input(width=len(NAMES)):
    from skl2onnx.common.data_types import FloatTensorType
    return [("X", FloatTensorType([None, width]))]


def classifier(directory, model, x, **options):
    from skl2onnx import to_onnx
    onnx.save(to_onnx(model, initial_types=float_input(), options=options, target_opset=TARGET), directory / "p_up.onnx")
    write_features(directory)
    write_golden(directory, x, ["p_up"], model.predict_proba(x)[:, 1])


def sklearn_zipmap(directory):
    from sklearn.linear_model import LogisticRegression
    classifier(directory, LogisticRegression().fit(*rows(400, 1)), rows(6, 2)[0])


def sklearn_zipmap_columns(directory):
    """An output for each class, and trees that take NaN."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    x, y = rows(400, 3)
    model = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=5, random_state=1).fit(with_gaps(x, 4), y)
    classifier(directory, model, with_gaps(rows(6, 5)[0], 6), zipmap="columns")


def sklearn_raw_scores(directory):
    from sklearn.svm import LinearSVC
    from skl2onnx import to_onnx
    x, y = rows(400, 1)
    model = LinearSVC(random_state=1).fit(x, y)
    graph = to_onnx(model, initial_types=float_input(), options={"raw_scores": True}, target_opset=TARGET)
    onnx.save(graph, directory / "p_up.onnx")
    write_features(directory)
    x, _ = rows(6, 2)
    write_golden(directory, x, ["p_up"], 1 / (1 + np.exp(-model.decision_function(x))))


def sklearn_columns(directory):
    """One input per column of a data frame."""
    import pandas
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler, StandardScaler
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType
    x, y = rows(400, 7)
    scaled = ColumnTransformer([("log", StandardScaler(), ["views_log", "up_log", "created_age_log"]),
                                ("share", RobustScaler(), ["up_per_view"])])
    model = make_pipeline(scaled, GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=1))
    model.fit(pandas.DataFrame(x, columns=NAMES), y)
    inputs = [(name, FloatTensorType([None, 1])) for name in NAMES]
    graph = to_onnx(model, initial_types=inputs, options={"zipmap": False}, target_opset=TARGET)
    onnx.save(graph, directory / "p_up.onnx")
    x, _ = rows(6, 8)
    write_golden(directory, x, ["p_up"], model.predict_proba(pandas.DataFrame(x, columns=NAMES))[:, 1])


def sklearn_regressor(directory):
    """Predicts per cent."""
    from sklearn.ensemble import RandomForestRegressor
    from skl2onnx import to_onnx
    x, y = rows(400, 9)
    model = RandomForestRegressor(n_estimators=4, max_depth=3, random_state=1).fit(x, 100 * y)
    onnx.save(to_onnx(model, initial_types=float_input(), target_opset=TARGET), directory / "p_up.onnx")
    write_features(directory)
    x, _ = rows(6, 10)
    write_golden(directory, x, ["p_up"], model.predict(x) / 100)


def lightgbm_onnxmltools(directory):
    import lightgbm
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType
    x, y = rows(400, 11)
    model = lightgbm.LGBMClassifier(n_estimators=6, num_leaves=6, random_state=1, n_jobs=1, verbose=-1)
    model.fit(with_gaps(x, 12), y)
    graph = convert_lightgbm(model, initial_types=[("input", FloatTensorType([None, len(NAMES)]))], zipmap=False, target_opset=15)
    onnx.save(graph, directory / "p_up.onnx")
    write_features(directory)
    x = with_gaps(rows(6, 13)[0], 14)
    write_golden(directory, x, ["p_up"], model.predict_proba(x)[:, 1])


def xgboost_onnxmltools(directory):
    """Two heads, a model each."""
    import xgboost
    from onnxmltools import convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType
    test = with_gaps(rows(6, 17)[0], 18)
    heads = []
    for seed, name in enumerate(["p_views", "p_up"]):
        x, y = rows(400, 15 + seed)
        model = xgboost.XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1).fit(with_gaps(x, 16), y)
        graph = convert_xgboost(model, initial_types=[("features", FloatTensorType([None, len(NAMES)]))], target_opset=15)
        onnx.save(graph, directory / f"{name}.onnx")
        heads.append(model.predict_proba(test)[:, 1])
    write_features(directory)
    write_golden(directory, test, ["p_views", "p_up"], np.stack(heads, axis=1))


# torch


def network(outputs, seed, hidden=8):
    import torch
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.BatchNorm1d(len(NAMES)), torch.nn.Linear(len(NAMES), hidden), torch.nn.GELU(), torch.nn.Linear(hidden, outputs)
    ).eval()


def in_place(function, model):
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, features):
            return function(self.model(features))

    return Wrapped().eval()


def export(model, file, output, count=2, **options):
    import torch
    torch.onnx.export(model, (torch.zeros(count, len(NAMES)),), file, input_names=["features"], output_names=[output],
                      **{"external_data": False, **options})


def dynamic(output, dynamo=True):
    """The options of the exporter that torch has now, or of that of TorchScript."""
    if dynamo:
        return {"dynamic_shapes": ({0: "N"},)}
    return {"dynamo": False, "dynamic_axes": {"features": {0: "N"}, output: {0: "N"}}}


def torch_golden(directory, model, names, of=lambda values: values, seed=20):
    import torch
    x, _ = rows(6, seed)
    write_features(directory)
    with torch.no_grad():
        write_golden(directory, x, names, of(model(torch.tensor(x))))


def torch_two_logits(directory):
    """By the exporter of TorchScript."""
    import torch
    model = network(2, 21)
    export(model, directory / "p_up.onnx", "logits", **dynamic("logits", dynamo=False))
    torch_golden(directory, model, ["p_up"], lambda logits: torch.softmax(logits, dim=1)[:, 1])


def torch_squeeze(directory):
    """Probabilities [N, 1, 3], of a model of sequences."""
    import torch
    model = in_place(lambda logits: torch.sigmoid(logits).unsqueeze(1), network(3, 22))
    export(model, directory / "head.onnx", "probs", **dynamic("probs"))
    torch_golden(directory, model, HEADS, lambda probs: probs[:, 0])


def torch_transposed(directory):
    """A head after the other: logits [3, N]."""
    import torch
    model = in_place(lambda logits: logits.T.contiguous(), network(3, 23))
    export(model, directory / "head.onnx", "logits", **dynamic("logits"))
    torch_golden(directory, model, HEADS, lambda logits: torch.sigmoid(logits).T)


def torch_half(directory):
    """float16, inputs and outputs too."""
    import torch
    from onnxconverter_common import float16
    model = in_place(torch.sigmoid, network(3, 24))
    export(model, directory / "head.onnx", "probs", **dynamic("probs"))
    half = float16.convert_float_to_float16(onnx.load(directory / "head.onnx"), keep_io_types=False)
    onnx.save(half, directory / "head.onnx")
    torch_golden(directory, model, HEADS)


def torch_int8(directory):
    """Dynamic quantisation: the scale of the values depends on the batch."""
    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic
    model = in_place(torch.sigmoid, network(3, 25, hidden=16))
    export(model, directory / "float.onnx", "probs", **dynamic("probs", dynamo=False))
    quantize_dynamic(directory / "float.onnx", directory / "head.onnx", weight_type=QuantType.QInt8)
    (directory / "float.onnx").unlink()
    session = onnxruntime.InferenceSession(directory / "head.onnx")
    x, _ = rows(6, 20)
    write_features(directory)
    write_golden(directory, x, HEADS, np.concatenate([session.run(None, {"features": row[None]})[0] for row in x]))


def torch_external_data(directory):
    """Weights in a file of their own, as torch saves them by default."""
    import torch
    model = in_place(torch.sigmoid, network(3, 26, hidden=64))
    export(model, directory / "head.onnx", "probs", **dynamic("probs"), external_data=True)
    torch_golden(directory, model, HEADS)


def torch_batch_of_one(directory):
    """Without dynamic_shapes."""
    import torch
    model = in_place(torch.sigmoid, network(1, 27))
    export(model, directory / "p_up.onnx", "probability", count=1)
    torch_golden(directory, model, ["p_up"])


def without_traces(file):
    """torch stores stack traces with the paths of this machine, most of the size of these small files."""
    model = onnx.load(file, load_external_data=False)
    for part in [*model.graph.node, *model.graph.input, *model.graph.output, *model.graph.value_info, model.graph, model]:
        del part.metadata_props[:]
        part.doc_string = ""
    onnx.save(model, file)


if __name__ == "__main__":
    shutil.rmtree(heads_folder, ignore_errors=True)
    for make in [
        sklearn_zipmap, sklearn_zipmap_columns, sklearn_raw_scores, sklearn_columns, sklearn_regressor, lightgbm_onnxmltools,
        xgboost_onnxmltools, torch_two_logits, torch_squeeze, torch_transposed, torch_half, torch_int8,
        torch_external_data, torch_batch_of_one,
    ]:
        folder = heads_folder / make.__name__.replace("_", "-")
        folder.mkdir(parents=True)
        make(folder)
        for file in folder.glob("*.onnx"):
            without_traces(file)
        print(folder.name, sum(file.stat().st_size for file in folder.iterdir()))
