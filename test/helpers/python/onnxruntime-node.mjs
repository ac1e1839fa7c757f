/**
 * Runs a graph for onnxruntime.py. The directory of the argument has `model.onnx` and `request.json`: the inputs by name, each with its
 * type, dims and the file of its bytes. Prints the inputs of the graph or, of a run, the outputs in the same form.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as ort from 'onnxruntime-node'

const arrays = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  int64: BigInt64Array,
  int32: Int32Array,
  uint8: Uint8Array,
}

const [, , directory] = process.argv
const read = (name) => readFileSync(join(directory, name))

function tensorOf({ file, type, dims }) {
  const bytes = Uint8Array.from(read(file))
  return new ort.Tensor(type, new arrays[type](bytes.buffer), dims)
}

try {
  const session = await ort.InferenceSession.create(read('model.onnx'), { logSeverityLevel: 4 })
  const { feeds } = JSON.parse(read('request.json').toString())
  if (feeds === undefined) {
    const inputs = session.inputMetadata.map(({ name, type, shape }) => ({ name, type, shape }))
    console.log(JSON.stringify({ inputs }))
  } else {
    const tensors = Object.fromEntries(Object.entries(feeds).map(([name, feed]) => [name, tensorOf(feed)]))
    const outputs = await session.run(tensors, session.outputNames, { logSeverityLevel: 4 })
    const described = session.outputNames.map((name, index) => {
      const { type, dims, data } = outputs[name]
      writeFileSync(
        join(directory, `output${index}`),
        new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
      )
      return { file: `output${index}`, type, dims }
    })
    console.log(JSON.stringify({ outputs: described }))
  }
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
