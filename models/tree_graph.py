"""
Tree ensembles to ONNX with nothing but `onnx` and `numpy`: models of LightGBM, forests and boosted trees of scikit-learn.
For machines that train; docs/models.md shows how to call it. Features are float32 there and in the service, so that a
threshold rounded down to float32 sends every row the same way.
"""

import numpy as np
from onnx import TensorProto, helper, save_model

# A node is (feature, threshold, left, right, missing_left): a row goes left where its feature is at most the
# threshold. A leaf is a number. A tree is a list of both, root first; left and right are places in it.


def save_trees(trees, feature_count, file, base=0.0, average=False):
    """Writes `features` [N, feature_count] to `sum` [N, 1]: `base` plus the sum, or the mean, of the trees."""
    nodes = [(tree, place, node) for tree, all_nodes in enumerate(trees) for place, node in enumerate(all_nodes)]
    leaves = [(tree, place, node) for tree, place, node in nodes if not isinstance(node, tuple)]

    def of(member, in_leaf):
        return [node[member] if isinstance(node, tuple) else in_leaf for _, _, node in nodes]

    ensemble = helper.make_node(
        "TreeEnsembleRegressor", ["features"], ["sum"], domain="ai.onnx.ml", n_targets=1, post_transform="NONE",
        aggregate_function="AVERAGE" if average else "SUM", base_values=[float(base)],
        nodes_treeids=[tree for tree, _, _ in nodes], nodes_nodeids=[place for _, place, _ in nodes],
        nodes_modes=["BRANCH_LEQ" if isinstance(node, tuple) else "LEAF" for _, _, node in nodes],
        nodes_featureids=of(0, 0), nodes_values=[rounded_down(value) for value in of(1, 0.0)],
        nodes_truenodeids=of(2, 0), nodes_falsenodeids=of(3, 0),
        nodes_missing_value_tracks_true=[int(value) for value in of(4, False)],
        target_treeids=[tree for tree, _, _ in leaves], target_nodeids=[place for _, place, _ in leaves],
        target_ids=[0] * len(leaves), target_weights=[float(value) for _, _, value in leaves])
    ports = [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["N", feature_count]),
             helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["N", 1])]
    graph = helper.make_graph([ensemble], "trees", ports[:1], ports[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    save_model(helper.make_model(graph, opset_imports=opsets, ir_version=8), file)


def lightgbm_trees(booster):
    """Of a model with numeric features and one value a row; the sum is what `predict(raw_score=True)` gives."""
    return [lightgbm_nodes(tree["tree_structure"], []) for tree in booster.dump_model()["tree_info"]]


def lightgbm_nodes(node, nodes):
    place = len(nodes)
    if "leaf_value" in node:
        nodes.append(node["leaf_value"])
        return nodes
    if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
        raise ValueError("categorical features, and zero_as_missing, are not for this function")
    threshold = node["threshold"]
    # Without missing values in training, LightGBM reads one as 0.
    missing_left = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0
    nodes.append(None)
    left = len(nodes)
    lightgbm_nodes(node["left_child"], nodes)
    right = len(nodes)
    lightgbm_nodes(node["right_child"], nodes)
    nodes[place] = (node["split_feature"], threshold, left, right, missing_left)
    return nodes


def sklearn_nodes(tree, column=0, scale=1.0):
    """Of `estimator.tree_`: `scale` times each leaf's value, of a classifier's leaf the share of class `column`."""
    return [
        float(scale * tree.value[place, 0, column]) if tree.children_left[place] < 0 else
        (int(tree.feature[place]), tree.threshold[place], int(tree.children_left[place]),
         int(tree.children_right[place]), bool(tree.missing_go_to_left[place]))
        for place in range(tree.node_count)]


def rounded_down(value):
    near = np.float32(value)
    return float(near if near <= value else np.nextafter(near, np.float32(-np.inf)))
