"""The part of Python's onnxruntime that models/rewrite_graph.py uses, on the onnxruntime-node of this project.

Debian has no such package, and its CI no other registry. Inputs and outputs go through files, as onnxruntime-node.mjs describes.
"""

import json
import os
import pathlib
import subprocess
import tempfile

import numpy

PROGRAM = pathlib.Path(__file__).with_name("onnxruntime-node.mjs")
TYPES = {
    "float32": numpy.float32,
    "float64": numpy.float64,
    "float16": numpy.float16,
    "int64": numpy.int64,
    "int32": numpy.int32,
    "uint8": numpy.uint8,
}
NAMES = {"float32": "tensor(float)", "float64": "tensor(double)"}


class Port:
    def __init__(self, name, type, shape):
        self.name, self.type, self.shape = name, NAMES.get(type, f"tensor({type})"), shape


class InferenceSession:
    def __init__(self, model, providers):
        self.directory = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.directory.name)
        (path / "model.onnx").write_bytes(model)
        self.path = path
        self.ports = self.node({})["inputs"]

    def get_inputs(self):
        return [Port(**port) for port in self.ports]

    def run(self, names, feeds):
        described = {}
        for index, (name, values) in enumerate(feeds.items()):
            (self.path / f"feed{index}").write_bytes(numpy.ascontiguousarray(values).tobytes())
            described[name] = {"file": f"feed{index}", "type": values.dtype.name, "dims": list(values.shape)}
        outputs = self.node({"feeds": described})["outputs"]
        return [
            numpy.frombuffer((self.path / each["file"]).read_bytes(), TYPES[each["type"]]).reshape(each["dims"])
            for each in outputs
        ]

    def node(self, request):
        (self.path / "request.json").write_text(json.dumps(request))
        done = subprocess.run(
            [os.environ["NODE"], str(PROGRAM), str(self.path)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        return json.loads(done.stdout)
