/**
 * Errors of ONNX Runtime in words that a model engineer can act on.
 */

/** Such as `/onnxruntime_src/core/graph/model.cc:202 onnxruntime::Model::Model(onnx::ModelProto&&, …) `. */
const sourceLocation =
  /(?<!\S)\/\S+\.(?:cc|h|cpp|hpp|cu|cuh):\d+ [^(\n]*\((?:[^()\n]|\([^()\n]*\))*\)(?: const)?(?: \[with [^\]\n]*\])? /
const notOnnx = /protobuf parsing failed|No graph was found in the protobuf|Model data pointer is null/
/** A session is created from bytes, in an empty directory: a path to other weights leads to one of these. */
const externalData = /external data|in-memory address marker|model_path must not be empty/i

/** The message of anything that was thrown, without the source location and the full stop of ONNX Runtime. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(sourceLocation, '').trim().replace(/\.$/, '')
}

/** Why no provider can open the graph, as a phrase about its file; null where another provider may. */
export function graphProblem(error: unknown, graph: Uint8Array): string | null {
  const message = error instanceof Error ? error.message : String(error)
  if (notOnnx.test(message)) return `is not an ONNX model: ${describeBytes(graph)}`
  if (externalData.test(message)) {
    return 'keeps weights in another file (external data), and a graph must be one file: save it without external data'
  }
  return null
}

/** Beginnings of files that are delivered in place of a model. */
const knownBeginnings: readonly (readonly [beginning: RegExp, what: string])[] = [
  [/^\s*<(!doctype html|html)/i, 'it is an HTML page, perhaps the login or error page of a download'],
  [/^version https:\/\/git-lfs/, 'it is a Git LFS pointer: run `git lfs pull`'],
  [/^\s*[{[]/, 'it looks like JSON'],
  [/^PK/, 'it is a ZIP archive, as PyTorch writes: export the model to ONNX'],
  [/^\x80/, 'it is a Python pickle: export the model to ONNX'],
  [/^\x89HDF/, 'it is an HDF5 file: export the model to ONNX'],
]

/** What a file is that is not an ONNX model. */
function describeBytes(bytes: Uint8Array): string {
  if (bytes.length === 0) return 'it is empty'
  const beginning = Buffer.from(bytes.subarray(0, 64)).toString('latin1')
  const known = knownBeginnings.find(([pattern]) => pattern.test(beginning))
  if (known !== undefined) return known[1]
  const quoted = JSON.stringify(beginning.slice(0, 16))
  return `its ${bytes.length} bytes are cut off or have another format, and begin with ${quoted}`
}
