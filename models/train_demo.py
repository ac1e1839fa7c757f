"""
Trains `demo-1`: four heads of boosted trees, each calibrated on posts that no tree has seen, and golden cases. docs/tutorial.md
shows the commands. Needs Python with scikit-learn and onnx (Debian: python3-sklearn python3-onnx); any later version works.

    python3 models/train_demo.py rows.jsonl models/demo-1

rows.jsonl has one JSON object for each scored row of a post that was placed on a board later: gall_id, post_no, decided_at, the
counters of the board six hours after the placement (views, comments, up, down), and the features.
"""

import hashlib
import json
import pathlib
import sys

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

from tree_graph import save_trees, sklearn_nodes

LABELS = ["gall_id", "post_no", "decided_at", "views", "comments", "up", "down"]
CALIBRATION_SHARE = 0.25
GOLDEN_CASES = 12
TREES = dict(n_estimators=80, max_depth=3, learning_rate=0.1, subsample=0.5, random_state=1)


def main(rows_file, package):
    names, posts, labels, features = read(rows_file)
    # The posts that were decided last calibrate, as the model will score posts later than those it was trained on.
    decided = {post: at for post, at in zip(posts, labels["decided_at"])}
    order = sorted(decided, key=decided.get)
    late = set(order[int(len(order) * (1 - CALIBRATION_SHARE)):])
    calibrates = np.array([post in late for post in posts])
    print(f"{len(order)} posts, {len(posts)} rows, {len(names)} features; {len(late)} posts calibrate")

    package.mkdir(parents=True, exist_ok=True)
    graphs, predictions = [], {}
    for head, label in [("p_views", "views"), ("p_comments", "comments"), ("p_up", "up")]:
        is_high = labels[label] > median_of_posts(posts, labels[label], ~calibrates)
        model, scale, offset = train_share(features, is_high, calibrates)
        prior = model.init_.class_prior_[1]
        base = scale * np.log(prior / (1 - prior)) + offset
        trees = [sklearn_nodes(one.tree_, scale=scale * model.learning_rate) for one in model.estimators_[:, 0]]
        save_trees(trees, len(names), package / f"{head}.onnx", base=base)
        predictions[head] = sigmoid(scale * model.decision_function(features) + offset)
        graphs.append(graph_of(package, head, "sigmoid"))
        report(head, predictions[head][calibrates], is_high[calibrates])
    votes = labels["up"] + labels["down"]
    share = np.where(votes > 0, labels["down"] / np.maximum(votes, 1), 0.0)
    regressor = GradientBoostingRegressor(**TREES).fit(features[~calibrates], share[~calibrates])
    trees = [sklearn_nodes(one.tree_, scale=regressor.learning_rate) for one in regressor.estimators_[:, 0]]
    save_trees(trees, len(names), package / "downvote_share.onnx", base=float(regressor.init_.constant_[0, 0]))
    predictions["downvote_share"] = np.clip(regressor.predict(features), 0, 1)
    graphs.append(graph_of(package, "downvote_share", "clip"))

    write_golden(package / "golden.json", names, features, predictions)
    manifest = {
        "$schema": "../../docs/manifest.schema.json",
        "model_version": package.name,
        "kind": "trained",
        "provenance": {
            "trained_on": f"simulated posts: {len(order)} placements decided from {min(decided.values())} to {max(decided.values())}",
            "note": "models/train_demo.py, gradient boosting of scikit-learn, Platt scaling on the last quarter of the placements",
        },
        "note": "Trained on simulated posts. It ranks the posts of the simulated client and says nothing about real ones.",
        "features": names,
        "head": graphs,
        "golden": named(package, "golden.json"),
    }
    (package / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    print(f"{package} written")


def read(file):
    """Names of the features; by row the key of its post, the labels and a float32 matrix."""
    with open(file) as lines:
        rows = [json.loads(line) for line in lines]
    if not rows:
        sys.exit(f"{file} has no rows")
    lacking = [name for name in LABELS if name not in rows[0]]
    if lacking:
        sys.exit(f"{file} has no {', '.join(lacking)}")
    names = [name for name in rows[0] if name not in LABELS]
    posts = [(row["gall_id"], row["post_no"]) for row in rows]
    labels = {name: np.array([row[name] for row in rows]) for name in LABELS}
    features = np.array([[row[name] for name in names] for row in rows], dtype=np.float32)
    return names, posts, labels, features


def median_of_posts(posts, values, chosen):
    return np.median(list({post: value for post, value, is_chosen in zip(posts, values, chosen) if is_chosen}.values()))


def train_share(features, is_high, calibrates):
    """A classifier, and the scale and offset of its logit that fit the calibrating rows best (Platt scaling)."""
    model = GradientBoostingClassifier(**TREES).fit(features[~calibrates], is_high[~calibrates])
    logits = model.decision_function(features[calibrates])[:, None]
    platt = LogisticRegression(C=1e6).fit(logits, is_high[calibrates])
    return model, float(platt.coef_[0, 0]), float(platt.intercept_[0])


def sigmoid(logits):
    return 1 / (1 + np.exp(-logits))


def report(head, predicted, is_high):
    bins = np.digitize(predicted, np.linspace(0, 1, 6)[1:-1])
    parts = [f"{predicted[bins == b].mean():.2f}->{is_high[bins == b].mean():.2f}" for b in range(5) if (bins == b).any()]
    print(f"{head}: predicted -> observed on the calibrating rows: {', '.join(parts)}")


def graph_of(package, head, activation):
    return {**named(package, f"{head}.onnx"), "inputs": {"features": "features"},
            "outputs": {head: {"name": "sum", "activation": activation}}}


def named(package, file):
    return {"file": file, "sha256": hashlib.sha256((package / file).read_bytes()).hexdigest()}


def write_golden(file, names, features, predictions):
    """Rows from the lowest prediction to the highest, with the heads of scikit-learn."""
    order = np.argsort(predictions["p_views"], kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, GOLDEN_CASES).astype(int)]
    cases = [
        {
            "name": f"row {row} of the training",
            "features": {name: float(value) for name, value in zip(names, features[row])},
            "heads": {head: float(values[row]) for head, values in predictions.items()},
        }
        for row in chosen
    ]
    file.write_text(json.dumps({"cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
