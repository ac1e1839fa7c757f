"""
Trains the heads of a demo model: boosted trees on posts that were placed on a board, calibrated on later posts, with golden cases and
the names of the features. docs/tutorial.md shows the commands, and `understudy models init` drafts the manifest. Needs Python with scikit-learn and onnx (Debian: python3-sklearn python3-onnx).

    understudy models features --json > catalogue.json
    python3 models/train_demo.py rows.jsonl catalogue.json models/demo-1

rows.jsonl is the result of train_demo.sql: one JSON object per scored row of a post that was placed on a board later, with
gall_id, post_no, decided_at, the counters on the board after six hours (views, comments, up, down), and the features, null if
a value is missing. catalogue.json has what the service passes to the model in place of each.

p_views, p_comments and p_up estimate which share of all placements gets fewer views, comments, recommendations on the board.
downvote_share estimates down / (up + down) there.
"""

import json
import pathlib
import sys

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression

from tree_graph import save_trees, sklearn_nodes

LABELS = ["gall_id", "post_no", "decided_at", "views", "comments", "up", "down"]
CALIBRATION_SHARE = 0.25
PLACEMENTS_MIN = 20
GOLDEN_CASES = 12
TREES = dict(n_estimators=100, max_depth=3, learning_rate=0.06, subsample=0.5, random_state=1)


def main(rows_file, catalogue_file, package):
    names, posts, labels, exported = read(rows_file)
    features = imputed(exported, names, catalogue_file)
    # The latest decisions are for calibration, because the model will score posts later than those of its training.
    decided = {post: at for post, at in zip(posts, labels["decided_at"])}
    order = sorted(decided, key=decided.get)
    if len(order) < PLACEMENTS_MIN:
        sys.exit(f"{rows_file} has {len(order)} placements; training needs at least {PLACEMENTS_MIN}: simulate more hours")
    late = set(order[int(len(order) * (1 - CALIBRATION_SHARE)):])
    calibrates = np.array([post in late for post in posts])
    print(f"{len(order)} placements, {len(posts)} rows, {len(names)} features; {len(late)} placements for calibration")

    package.mkdir(parents=True, exist_ok=True)
    targets = {
        f"p_{label}": share_below(posts, labels[label], ~calibrates) for label in ["views", "comments", "up"]
    }
    votes = labels["up"] + labels["down"]
    targets["downvote_share"] = np.where(votes > 0, labels["down"] / np.maximum(votes, 1), 0.0)
    predictions = {}
    for head, target in targets.items():
        model, scale, offset = train(features, target, calibrates)
        trees = [sklearn_nodes(one.tree_, scale=scale * model.learning_rate) for one in model.estimators_[:, 0]]
        base = scale * float(model.init_.constant_[0, 0]) + offset
        save_trees(trees, len(names), package / f"{head}.onnx", base=base)
        predictions[head] = np.clip(scale * model.predict(features) + offset, 0, 1)
        report(head, predictions[head][calibrates], target[calibrates])

    write_golden(package / "golden.json", names, exported, predictions)
    (package / "features.txt").write_text("\n".join(names) + "\n")
    first, last = decided[order[0]], decided[order[-1]]
    print(f"trained on decisions from {first} to {last}")
    print(f"{package} written")


def read(file):
    """Names of the features; by row the key of its post, the labels and a float32 matrix, with NaN for missing values."""
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
    # None becomes NaN.
    features = np.array([[row[name] for name in names] for row in rows], dtype=np.float32)
    return names, posts, labels, features


def imputed(features, names, catalogue_file):
    """The features as the service passes them: the value of the catalogue in place of a missing one."""
    with open(catalogue_file) as text:
        missing = {feature["name"]: feature["missing"] for feature in json.load(text)}
    unknown = [name for name in names if name not in missing]
    if unknown:
        sys.exit(f"{catalogue_file} has no {', '.join(unknown)}")
    filled = features.copy()
    for column, name in enumerate(names):
        empty = np.isnan(features[:, column])
        if empty.any() and missing[name] is None:
            sys.exit(f"{name} is null in a row, but the service always has a value for it")
        filled[empty, column] = missing[name]
    return filled


def share_below(posts, values, chosen):
    """For each row the share of the chosen posts with a lower value; an equal one counts half."""
    by_post = {post: value for post, value, is_chosen in zip(posts, values, chosen) if is_chosen}
    known = np.sort(list(by_post.values()))
    return (np.searchsorted(known, values, "left") + np.searchsorted(known, values, "right")) / (2 * len(known))


def train(features, target, calibrates):
    """A regressor, and the scale and offset of its prediction that fit the calibration rows best."""
    model = GradientBoostingRegressor(**TREES).fit(features[~calibrates], target[~calibrates])
    line = LinearRegression().fit(model.predict(features[calibrates])[:, None], target[calibrates])
    return model, float(line.coef_[0]), float(line.intercept_)


def report(head, predicted, observed):
    bins = np.digitize(predicted, np.linspace(0, 1, 6)[1:-1])
    parts = [f"{predicted[bins == b].mean():.2f} {observed[bins == b].mean():.2f}" for b in range(5) if (bins == b).any()]
    print(f"{head}: means predicted and observed on the calibration rows: {', '.join(parts)}")


def write_golden(file, names, exported, predictions):
    """
    Rows from the lowest prediction to the highest, with the heads that scikit-learn predicts. A missing value stays null, so that the
    cases also test what the service passes for it.
    """
    order = np.argsort(predictions["p_views"], kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, GOLDEN_CASES).astype(int)]
    cases = [
        {
            "name": f"row {row} of the training",
            "features": {name: None if np.isnan(value) else float(value) for name, value in zip(names, exported[row])},
            "heads": {head: float(values[row]) for head, values in predictions.items()},
        }
        for row in chosen
    ]
    file.write_text(json.dumps({"missing": "imputed", "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]))
