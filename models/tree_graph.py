"""
Converts tree ensembles to ONNX with `onnx` and `numpy` only: LightGBM models, and forests and boosted trees of scikit-learn.
Run it on the training machine; docs/models.md shows how. Features are float32 in training and in the service, so thresholds
that are rounded down to float32 send every row to the same branch.
"""

import numpy as np
from onnx import TensorProto, helper, save_model

# A node is (feature, threshold, left, right, missing_left): a row takes the left branch if its feature is at most the
# threshold. A leaf is a number. A tree is a list of nodes and leaves, root first; left and right are indices in it.


def save_trees(trees, feature_count, file, base=0.0, average=False):
    """Writes a graph from `features` [N, feature_count] to `sum` [N, 1]: `base` plus the sum, or the mean, of the trees."""
    nodes = [(tree, index, node) for tree, all_nodes in enumerate(trees) for index, node in enumerate(all_nodes)]
    leaves = [(tree, index, node) for tree, index, node in nodes if not isinstance(node, tuple)]

    def of(member, in_leaf):
        return [node[member] if isinstance(node, tuple) else in_leaf for _, _, node in nodes]

    ensemble = helper.make_node(
        "TreeEnsembleRegressor", ["features"], ["sum"], domain="ai.onnx.ml", n_targets=1, post_transform="NONE",
        aggregate_function="AVERAGE" if average else "SUM", base_values=[float(base)],
        nodes_treeids=[tree for tree, _, _ in nodes], nodes_nodeids=[index for _, index, _ in nodes],
        nodes_modes=["BRANCH_LEQ" if isinstance(node, tuple) else "LEAF" for _, _, node in nodes],
        nodes_featureids=of(0, 0), nodes_values=[rounded_down(value) for value in of(1, 0.0)],
        nodes_truenodeids=of(2, 0), nodes_falsenodeids=of(3, 0),
        nodes_missing_value_tracks_true=[int(value) for value in of(4, False)],
        target_treeids=[tree for tree, _, _ in leaves], target_nodeids=[index for _, index, _ in leaves],
        target_ids=[0] * len(leaves), target_weights=[float(value) for _, _, value in leaves])
    ports = [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["N", feature_count]),
             helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["N", 1])]
    graph = helper.make_graph([ensemble], "trees", ports[:1], ports[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    save_model(helper.make_model(graph, opset_imports=opsets, ir_version=8), file)


def lightgbm_trees(booster):
    """Trees of a model with numeric features and one value per row; their sum equals `predict(raw_score=True)`."""
    return [lightgbm_nodes(tree["tree_structure"], []) for tree in booster.dump_model()["tree_info"]]


def lightgbm_nodes(node, nodes):
    index = len(nodes)
    if "leaf_value" in node:
        nodes.append(node["leaf_value"])
        return nodes
    if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
        raise ValueError("categorical features and zero_as_missing are not supported")
    threshold = node["threshold"]
    # If training had no missing values, LightGBM treats a missing value as 0.
    missing_left = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0
    nodes.append(None)
    left = len(nodes)
    lightgbm_nodes(node["left_child"], nodes)
    right = len(nodes)
    lightgbm_nodes(node["right_child"], nodes)
    nodes[index] = (node["split_feature"], threshold, left, right, missing_left)
    return nodes


def sklearn_nodes(tree, column=0, scale=1.0):
    """Nodes of `estimator.tree_`. A leaf is `scale` times its value; for a classifier, the share of class `column`."""
    # Before 1.3, trees of scikit-learn do not support missing values.
    missing_left = getattr(tree, "missing_go_to_left", np.zeros(tree.node_count, dtype=bool))
    return [
        float(scale * tree.value[index, 0, column]) if tree.children_left[index] < 0 else
        (int(tree.feature[index]), tree.threshold[index], int(tree.children_left[index]),
         int(tree.children_right[index]), bool(missing_left[index]))
        for index in range(tree.node_count)]


def rounded_down(value):
    near = np.float32(value)
    return float(near if near <= value else np.nextafter(near, np.float32(-np.inf)))
