"""Rewrites ONNX graphs that the service cannot feed as they are. Needs the packages onnx, numpy and onnxruntime.

  python3 rewrite_graph.py free-batch IN.onnx OUT.onnx
  python3 rewrite_graph.py join-inputs IN.onnx OUT.onnx features=views,up,age

free-batch makes the first dimension of all inputs and outputs dynamic, and that of constant shapes of Reshape.
join-inputs replaces several inputs, [N] or [N, width], by one float input [N, sum of widths], in the order of the names.

The result is run and compared with the original before it is written. A graph that computes something else is not written.
"""

import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROWS = 3
TOLERANCE = 1e-4
NUMPY_TYPES = {
    "tensor(float)": numpy.float32,
    "tensor(double)": numpy.float64,
    "tensor(float16)": numpy.float16,
    "tensor(int64)": numpy.int64,
    "tensor(int32)": numpy.int32,
    "tensor(uint8)": numpy.uint8,
}


def batch_size(model):
    """The first dimension of all inputs."""
    constants = {constant.name for constant in model.graph.initializer}
    ports = [port for port in model.graph.input if port.name not in constants]
    sizes = {port.name: port.type.tensor_type.shape.dim[0].dim_value for port in ports}
    if len(set(sizes.values())) != 1 or 0 in sizes.values():
        sys.exit(f"the inputs do not all have the same fixed batch size: {sizes}")
    return next(iter(sizes.values()))


def free_batch(model):
    """Frees the sizes that begin with that of the batch. Returns the size."""
    graph = model.graph
    size = batch_size(model)
    for port in [*graph.input, *graph.output]:
        dims = port.type.tensor_type.shape.dim
        if dims and dims[0].dim_value == size:
            dims[0].dim_param = "N"
    # Inferred shapes still have the fixed size.
    del graph.value_info[:]
    depends = depending_on_inputs(graph)
    producers = {output: node for node in graph.node for output in node.output}
    constants = {constant.name: constant for constant in graph.initializer}
    for node in graph.node:
        # A weight, such as a bias of the shape [1, channels, 1, 1], is not a batch.
        if node.op_type != "Reshape" or node.input[0] not in depends:
            continue
        name = node.input[1]
        producer = producers.get(name)
        if name in constants:
            shape = constants[name]
        elif producer is not None and producer.op_type == "Constant":
            shape = next(each.t for each in producer.attribute if each.name == "value")
        else:
            continue
        values = numpy_helper.to_array(shape).copy()
        if values.size == 0 or values[0] != size:
            continue
        # The number of rows follows from the other sizes, unless one of them is to be inferred: then it is that of the input.
        values[0] = 0 if -1 in values[1:] else -1
        # Reshapes of weights may share the constant.
        freed = numpy_helper.from_array(values, unused_name(graph, f"{name}/free"))
        graph.initializer.append(freed)
        node.input[1] = freed.name
    return size


def depending_on_inputs(graph):
    """The names of all values that depend on an input; nodes are in the order in which they run."""
    weights = {constant.name for constant in graph.initializer}
    names = {port.name for port in graph.input if port.name not in weights}
    for node in graph.node:
        # Shapes of a fixed size do not depend on the values.
        if any(name in names for name in node.input):
            names.update(node.output)
    return names


def all_names(graph):
    names = {value.name for value in [*graph.input, *graph.output, *graph.initializer, *graph.value_info]}
    for node in graph.node:
        names.update([node.name, *node.input, *node.output])
    return names


def unused_name(graph, wanted):
    """`wanted`, or with a number at its end."""
    names, name, number = all_names(graph), wanted, 2
    while name in names:
        name, number = f"{wanted}_{number}", number + 1
    return name


def join_inputs(model, wanted, names):
    """Returns the name of the joined input, and the width of each of its parts."""
    graph = model.graph
    known = {port.name: port for port in graph.input}
    missing = [name for name in names if name not in known]
    if missing:
        sys.exit(f"the graph has no input {', '.join(missing)}; it has {', '.join(known)}")
    joined = unused_name(graph, wanted)
    if joined != wanted:
        print(f"the graph already has a value named {wanted}: the input is named {joined}")
    nodes, widths = [], {}
    for name in names:
        tensor = known[name].type.tensor_type
        dims = tensor.shape.dim
        width = dims[1].dim_value if len(dims) == 2 else 1
        if len(dims) > 2 or width < 1:
            sys.exit(f"input {name} is neither [N] nor [N, width] with a fixed width")
        start = sum(widths.values())
        columns = numpy_helper.from_array(
            numpy.arange(start, start + width, dtype=numpy.int64), unused_name(graph, f"{joined}/{name}/columns")
        )
        graph.initializer.append(columns)
        steps = [("Gather", [joined, columns.name], {"axis": 1})]
        if len(dims) == 1:
            shape = numpy_helper.from_array(
                numpy.array([-1], dtype=numpy.int64), unused_name(graph, f"{joined}/{name}/shape")
            )
            graph.initializer.append(shape)
            steps.append(("Reshape", [None, shape.name], {}))
        if tensor.elem_type != TensorProto.FLOAT:
            steps.append(("Cast", [None], {"to": tensor.elem_type}))
        value = joined
        for index, (kind, inputs, attributes) in enumerate(steps):
            output = name if index == len(steps) - 1 else unused_name(graph, f"{joined}/{name}/{index}")
            nodes.append(helper.make_node(kind, [value if i is None else i for i in inputs], [output], **attributes))
            value = output
        widths[name] = width
    for node in reversed(nodes):
        graph.node.insert(0, node)
    others = [port for port in graph.input if port.name not in names]
    del graph.input[:]
    graph.input.extend(
        [helper.make_tensor_value_info(joined, TensorProto.FLOAT, ["N", sum(widths.values())]), *others]
    )
    return joined, widths


def session_of(model):
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def drawn_inputs(session, rows, seed=1):
    """Random inputs of the session, with so many rows where it takes any number; other free sizes are 8."""
    random = numpy.random.default_rng(seed)
    feeds = {}
    for port in session.get_inputs():
        if port.type not in NUMPY_TYPES:
            sys.exit(f"input {port.name} is {port.type}, which the service cannot feed")
        shape = [
            size if isinstance(size, int) else rows if index == 0 else 8 for index, size in enumerate(port.shape)
        ]
        kind = NUMPY_TYPES[port.type]
        values = random.normal(size=shape) if numpy.issubdtype(kind, numpy.floating) else random.integers(0, 2, shape)
        feeds[port.name] = values.astype(kind)
    return feeds


def require_equal(found, expected, what):
    for one, other in zip(found, expected):
        if not isinstance(one, numpy.ndarray):
            continue
        if one.shape != other.shape:
            sys.exit(f"{what}: an output is {list(one.shape)} instead of {list(other.shape)}; nothing was written")
        if not numpy.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True):
            sys.exit(f"{what}: the outputs differ from those of the original; nothing was written")


def check_free_batch(original, rewritten, size):
    """Batches of the old size give the same, and rows of a larger batch give what they give alone."""
    before, after = session_of(original), session_of(rewritten)
    parts = [drawn_inputs(before, size, seed) for seed in range(ROWS)]
    expected = [before.run(None, feeds) for feeds in parts]
    for feeds, outputs in zip(parts, expected):
        require_equal(after.run(None, feeds), outputs, f"with {size} rows")
    together = {name: numpy.concatenate([feeds[name] for feeds in parts]) for name in parts[0]}
    joined = [numpy.concatenate(outputs) for outputs in zip(*expected)]
    require_equal(after.run(None, together), joined, f"with {ROWS * size} rows")


def check_join_inputs(original, rewritten, joined, widths):
    """The old inputs side by side give the same."""
    before, after = session_of(original), session_of(rewritten)
    feeds = drawn_inputs(before, ROWS)
    rows = len(next(iter(feeds.values())))
    matrix = numpy.concatenate([feeds.pop(name).reshape(rows, width) for name, width in widths.items()], axis=1)
    expected = before.run(None, {**feeds_of(matrix, before, widths), **feeds})
    require_equal(after.run(None, {joined: matrix.astype(numpy.float32), **feeds}), expected, f"with {rows} rows")


def feeds_of(matrix, session, widths):
    """The columns of the matrix as the inputs that were joined."""
    shapes = {port.name: (port.shape, NUMPY_TYPES[port.type]) for port in session.get_inputs()}
    feeds, start = {}, 0
    for name, width in widths.items():
        shape, kind = shapes[name]
        values = matrix[:, start : start + width].astype(numpy.float32).astype(kind)
        feeds[name] = values.reshape(-1) if len(shape) == 1 else values
        start += width
    return feeds


def rewrite(command, source, target, rest):
    original, rewritten = onnx.load(source), onnx.load(source)
    if command == "free-batch":
        size = free_batch(rewritten)
        check = lambda: check_free_batch(original, rewritten, size)
    else:
        new_name, _, old_names = rest[0].partition("=")
        joined, widths = join_inputs(rewritten, new_name, old_names.split(","))
        check = lambda: check_join_inputs(original, rewritten, joined, widths)
    onnx.checker.check_model(rewritten)
    try:
        check()
    except Exception as error:
        sys.exit(f"the rewritten graph cannot run, and nothing was written: {error}")
    onnx.save(rewritten, target)


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("free-batch", "join-inputs"):
        sys.exit(__doc__)
    rewrite(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
