"""Computes test/golden/evaluation/scikit-learn-values.json: ranking metrics of fixed lists by scikit-learn, SciPy and NumPy.

Run by hand with Debian's python3-sklearn: /usr/bin/python3 test/golden/evaluation/scikit_learn_values.py
"""

import json
import pathlib

import numpy as np
import scipy
import sklearn
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

random = np.random.default_rng(20261123)
cases = []
for count, levels in ((5, 3), (40, 6), (40, 1000), (300, 12), (300, 100000), (2000, 50)):
    for share in (0.05, 0.5):
        scores = random.integers(0, levels, count) / levels
        other = random.integers(0, levels, count) / levels
        positive = (random.random(count) < share).astype(int)
        positive[0], positive[1] = 1, 0
        distinct = random.permutation(count) / count  # NDCG: scikit-learn averages over ties, a cut list does not
        cases.append(
            {
                "scores": scores.tolist(),
                "other": other.tolist(),
                "distinct": distinct.tolist(),
                "positive": positive.tolist(),
                "roc_auc": roc_auc_score(positive, scores),
                "average_precision": average_precision_score(positive, scores),
                "spearman": spearmanr(scores, other).correlation,
                "ndcg_10": ndcg_score([positive], [distinct], k=10),
                "ndcg_50": ndcg_score([positive], [distinct], k=50),
                "quantiles": np.quantile(scores, [0.1, 0.5, 0.9]).tolist(),
            }
        )
versions = {"numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__}
path = pathlib.Path(__file__).with_name("scikit-learn-values.json")
path.write_text(json.dumps({"versions": versions, "cases": cases}, separators=(",", ":")) + "\n")
