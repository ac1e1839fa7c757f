/**
 * The example package with encoders that fail on some inputs: a text with 오늘 ends the process of the text encoder by
 * SIGFPE, or its graph returns an error; the graph of the image encoder returns an error for a white image.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { GraphBuilder } from '../../models/graph-builder.js'
import { makeExample } from '../../models/make-example.js'
import { mulberry32 } from '../../src/base/mulberry32.js'

const dim = 32
/** The token of 오늘 in the example's tokenizer. */
const failingToken = 595

/** The lowest integer divided by -1 is a signal on x86, and a number on ARM. */
export const canCrash = process.arch === 'x64'

/** Writes the package `crashing`. */
export function writeCrashingExample(modelsDir: string): void {
  writeExample(modelsDir, 'crashing', { 'text/model.onnx': crashingGraph() })
}

/** Writes the package `erring`: its graphs return errors, and no process ends. */
export function writeErringExample(modelsDir: string): void {
  writeExample(modelsDir, 'erring', {
    'text/model.onnx': erringTextGraph(),
    'image/model.onnx': erringImageGraph(),
  })
}

function writeExample(modelsDir: string, version: string, graphs: Record<string, Uint8Array>): void {
  const files: Record<string, Uint8Array> = { ...makeExample(), ...graphs }
  const manifest = JSON.parse(Buffer.from(files['manifest.json'] ?? []).toString()) as Record<
    'text' | 'image',
    { readonly file: string }
  >
  const hashed = <Part extends { readonly file: string }>(
    part: Part,
  ): Part & { readonly sha256: string } => ({
    ...part,
    sha256: createHash('sha256')
      .update(files[part.file] ?? '')
      .digest('hex'),
  })
  const { text, image } = manifest
  const changed = { model_version: version, text: hashed(text), image: hashed(image), golden: undefined }
  files['manifest.json'] = Buffer.from(JSON.stringify({ ...manifest, ...changed }))
  for (const [name, bytes] of Object.entries(files)) {
    const file = join(modelsDir, version, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, bytes)
  }
}

/** Looks 오늘 up outside of a table of one row. */
function erringTextGraph(): Uint8Array {
  const graph = new GraphBuilder(mulberry32(1))
  const isFailing = graph.add('Equal', ['input_ids', graph.integers(failingToken)])
  const index = graph.add('Where', [isFailing, graph.integers(99), graph.integers(0)])
  const ones = graph.add('Gather', [graph.floats([1, dim], new Float32Array(dim).fill(1)), index])
  const values = graph.add('Unsqueeze', [
    graph.add('Cast', ['input_ids'], { to: { int: 1 } }),
    graph.integers(2),
  ])
  graph.add('Add', [ones, values], {}, 'last_hidden_state')
  return writeTextGraph(graph)
}

/** One vector for all images, which it looks up outside of a table of one row when an image is white. */
function erringImageGraph(): Uint8Array {
  const graph = new GraphBuilder(mulberry32(1))
  const axes = { axes: { ints: [1, 2, 3] }, keepdims: { int: 0 } }
  const mean = graph.add('ReduceMean', ['pixel_values'], axes)
  const isWhite = graph.add('Greater', [mean, graph.floats([1], Float32Array.of(2))])
  const index = graph.add('Where', [isWhite, graph.integers(99), graph.integers(0)])
  graph.add('Gather', [graph.floats([1, 16], new Float32Array(16).fill(1)), index], {}, 'patches')
  return graph.write({
    name: 'failing',
    note: '',
    inputs: [{ name: 'pixel_values', shape: ['N', 3, 32, 32] }],
    outputs: [{ name: 'patches', shape: ['N', 16] }],
  })
}

function crashingGraph(): Uint8Array {
  const graph = new GraphBuilder(mulberry32(1))
  const isCrashing = graph.add('Equal', ['input_ids', graph.integers(failingToken)])
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
  return writeTextGraph(graph)
}

function writeTextGraph(graph: GraphBuilder): Uint8Array {
  return graph.write({
    name: 'failing',
    note: '',
    inputs: ['input_ids', 'attention_mask'].map((name) => ({ name, shape: ['N', 'T'], element: 'int64' })),
    outputs: [{ name: 'last_hidden_state', shape: ['N', 'T', dim] }],
  })
}
