// One call of onnxruntime.py: reads a request from stdin, and prints the inputs of a graph, or its outputs for some feeds.
import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import * as ort from 'onnxruntime-node'

const arrays = { float32: Float32Array, float64: Float64Array, int64: BigInt64Array, uint8: Uint8Array }
const { file, names = [], feeds = {} } = JSON.parse(readFileSync(0, 'utf8'))
const session = await ort.InferenceSession.create(file)
const inputs = session.inputMetadata.map(({ name, type, shape }) => ({ name, type, shape }))
const tensors = Object.entries(feeds).map(([name, { type, dims, data }]) => {
  const bytes = new Uint8Array(Buffer.from(data, 'base64'))
  return [name, new ort.Tensor(type, new arrays[type](bytes.buffer), dims)]
})
const found = names.length === 0 ? {} : await session.run(Object.fromEntries(tensors), names)
const outputs = names.map((name) => {
  const { type, dims, data } = found[name]
  return { type, dims, data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64') }
})
process.stdout.write(JSON.stringify({ inputs, outputs }))
