"""Rewrites ONNX graphs that the service cannot feed as they are. Needs the package onnx.

  python3 rewrite_graph.py free-batch IN.onnx OUT.onnx
  python3 rewrite_graph.py join-inputs IN.onnx OUT.onnx features=views,up,age

free-batch makes the first dimension of all inputs and outputs dynamic, and that of constant shapes of Reshape.
join-inputs replaces several inputs, [N] or [N, width], by one float input [N, sum of widths], in the order of the names.
"""

import sys

import onnx
from onnx import TensorProto, helper, numpy_helper


def free_batch(model):
    graph = model.graph
    ports = [*graph.input, *graph.output]
    sizes = {port.type.tensor_type.shape.dim[0].dim_value for port in graph.input}
    for port in ports:
        port.type.tensor_type.shape.dim[0].dim_param = "N"
    # Inferred shapes still have the fixed size.
    del graph.value_info[:]
    shapes = {node.input[1] for node in graph.node if node.op_type == "Reshape"}
    for constant in graph.initializer:
        if constant.name in shapes:
            values = numpy_helper.to_array(constant).copy()
            # 0 copies the size of the input.
            if values.size and values[0] in sizes:
                values[0] = 0
                constant.CopyFrom(numpy_helper.from_array(values, constant.name))


def join_inputs(model, joined, names):
    graph = model.graph
    known = {port.name: port for port in graph.input}
    missing = [name for name in names if name not in known]
    if missing:
        sys.exit(f"the graph has no input {', '.join(missing)}; it has {', '.join(known)}")
    nodes, start = [], 0
    for name in names:
        tensor = known[name].type.tensor_type
        dims = tensor.shape.dim
        width = dims[1].dim_value if len(dims) == 2 else 1
        columns = helper.make_tensor(f"{joined}/{name}/columns", TensorProto.INT64, [width], range(start, start + width))
        graph.initializer.append(columns)
        steps = [("Gather", [joined, columns.name], {"axis": 1})]
        if len(dims) == 1:
            shape = helper.make_tensor(f"{joined}/{name}/shape", TensorProto.INT64, [1], [-1])
            graph.initializer.append(shape)
            steps.append(("Reshape", [None, shape.name], {}))
        if tensor.elem_type != TensorProto.FLOAT:
            steps.append(("Cast", [None], {"to": tensor.elem_type}))
        value = joined
        for index, (kind, inputs, attributes) in enumerate(steps):
            output = name if index == len(steps) - 1 else f"{joined}/{name}/{index}"
            nodes.append(helper.make_node(kind, [value if i is None else i for i in inputs], [output], **attributes))
            value = output
        start += width
    for node in reversed(nodes):
        graph.node.insert(0, node)
    others = [port for port in graph.input if port.name not in names]
    del graph.input[:]
    graph.input.extend([helper.make_tensor_value_info(joined, TensorProto.FLOAT, ["N", start]), *others])


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("free-batch", "join-inputs"):
        sys.exit(__doc__)
    command, source, target, *rest = sys.argv[1:]
    rewritten = onnx.load(source)
    if command == "free-batch":
        free_batch(rewritten)
    else:
        new_name, _, old_names = rest[0].partition("=")
        join_inputs(rewritten, new_name, old_names.split(","))
    onnx.checker.check_model(rewritten)
    onnx.save(rewritten, target)
