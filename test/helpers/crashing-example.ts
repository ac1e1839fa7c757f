/**
 * The example package with a text encoder that ends its process by SIGFPE when a text contains 오늘.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { GraphBuilder } from '../../models/graph-builder.js'
import { makeExample } from '../../models/make-example.js'
import { randomNumbers } from '../../models/random.js'

const dim = 32
/** The token of 오늘 in the example's tokenizer. */
const crashingToken = 595

/** The lowest integer divided by -1 is a signal on x86, and a number on ARM. */
export const canCrash = process.arch === 'x64'

/** Writes the package `crashing`. */
export function writeCrashingExample(modelsDir: string): void {
  const files: Record<string, Uint8Array> = { ...makeExample(), 'text/model.onnx': crashingGraph() }
  const manifest = JSON.parse(Buffer.from(files['manifest.json'] ?? []).toString()) as {
    text: { sha256: string }
  }
  const sha256 = createHash('sha256')
    .update(files['text/model.onnx'] ?? '')
    .digest('hex')
  const text = { ...manifest.text, sha256 }
  files['manifest.json'] = Buffer.from(
    JSON.stringify({ ...manifest, model_version: 'crashing', text, golden: undefined }),
  )
  for (const [name, bytes] of Object.entries(files)) {
    const file = join(modelsDir, 'crashing', name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, bytes)
  }
}

function crashingGraph(): Uint8Array {
  const graph = new GraphBuilder(randomNumbers(1))
  const isCrashing = graph.add('Equal', ['input_ids', graph.integers(crashingToken)])
  const divisor = graph.add('Where', [isCrashing, graph.integers(-1), graph.integers(1)])
  const lowest = graph.integers(-(2 ** 63))
  const quotient = graph.add('Div', [lowest, divisor])
  const nothing = graph.add('Mul', [
    graph.add('Cast', [quotient], { to: { int: 1 } }),
    graph.floats([1], Float32Array.of(0)),
  ])
  const values = graph.add('Add', [graph.add('Cast', ['input_ids'], { to: { int: 1 } }), nothing])
  const wide = graph.add('Unsqueeze', [values, graph.integers(2)])
  graph.add('Add', [wide, graph.floats([1, 1, dim], new Float32Array(dim).fill(1))], {}, 'last_hidden_state')
  return graph.write({
    name: 'crashing',
    note: '',
    inputs: ['input_ids', 'attention_mask'].map((name) => ({ name, shape: ['N', 'T'], element: 'int64' })),
    outputs: [{ name: 'last_hidden_state', shape: ['N', 'T', dim] }],
  })
}
