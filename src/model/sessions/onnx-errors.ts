/**
 * Errors of ONNX Runtime in words that a model engineer can act on.
 */
import { messageOf } from '../../base/index.js'
import { foreignKind } from '../package/file-kind.js'

/** Such as `/onnxruntime_src/core/graph/model.cc:202 onnxruntime::Model::Model(onnx::ModelProto&&, …) `. */
const sourceLocation =
  /(?<!\S)\/\S+\.(?:cc|h|cpp|hpp|cu|cuh):\d+ [^(\n]*\((?:[^()\n]|\([^()\n]*\))*\)(?: const)?(?: \[with [^\]\n]*\])? /
const itemReasonCharsMax = 500
const notOnnx = /protobuf parsing failed|No graph was found in the protobuf|Model data pointer is null/
/** A session is created from bytes, in an empty directory: a path to other weights leads to one of these. */
const externalData =
  /external (?:data|TensorProto)|Data of TensorProto|in-memory address marker|model_path must not be empty/i
/** Of its allocators, of C++, of V8, and of CUDA. */
const outOfMemory = /failed to allocate memory|bad_alloc|buffer allocation failed|out of memory/i

/** Dawn's, with and without a Vulkan loader. */
const noAdapter = /Failed to get a WebGPU adapter.*/

/** The message of anything that was thrown, without the source location and the full stop of ONNX Runtime. */
export function reasonOf(error: unknown): string {
  const message = messageOf(error)
  const [adapter] = noAdapter.exec(message) ?? []
  if (adapter !== undefined)
    return (
      'no device: it needs a Vulkan loader (libvulkan1) and a driver, which VK_DRIVER_FILES selects; see docs/gpu.md ' +
      `(${adapter.replace(/\.$/, '')})`
    )
  return message.replace(sourceLocation, '').trim().replace(/\.$/, '')
}

/** The same for the error of one item of a batch: an error of ONNX Runtime may quote whole shapes. */
export function itemReasonOf(error: unknown): string {
  return reasonOf(error).slice(0, itemReasonCharsMax)
}

/** ONNX Runtime returns it like any other error of a graph. */
export function isOutOfMemory(error: unknown): boolean {
  return outOfMemory.test(messageOf(error))
}

/** Why no provider can open the graph, as a phrase about its file; null if another provider may. */
export function graphProblem(error: unknown, graph: Uint8Array): string | null {
  const message = messageOf(error)
  if (notOnnx.test(message)) return `is not an ONNX model: ${describeBytes(graph)}`
  if (externalData.test(message)) {
    return 'keeps weights in another file (external data) that it does not name: save it without external data'
  }
  return null
}

/** The format of a file that is not an ONNX model. */
function describeBytes(bytes: Uint8Array): string {
  const quoted = JSON.stringify(Buffer.from(bytes.subarray(0, 16)).toString('latin1'))
  return (
    foreignKind(bytes) ??
    `its ${bytes.length} bytes are truncated or have another format; they begin with ${quoted}`
  )
}
