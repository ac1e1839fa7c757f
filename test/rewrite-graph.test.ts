/**
 * models/rewrite_graph.py: what it writes computes the same as before, and what would not is not written. Needs Debian's python3-onnx;
 * test/helpers/python stands in for Python's onnxruntime.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as ort from 'onnxruntime-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { GraphBuilder } from '../models/graph-builder.js'
import type { Port } from '../models/onnx-writer.js'
import { randomNumbers } from '../models/random.js'
import { projectDir } from './helpers/project.js'

// Debian's packages belong to this one.
const python = '/usr/bin/python3'
const hasOnnx = spawnSync(python, ['-c', 'import onnx, numpy']).status === 0
if (!hasOnnx) console.log('skipped: test/rewrite-graph.test.ts needs python3-onnx')

interface Rewritten {
  readonly status: number | null
  readonly printed: string
  /** null: nothing was written. */
  readonly graph: Uint8Array | null
}

function rewrite(command: string, graph: Uint8Array, ...rest: string[]): Rewritten {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-rewrite-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const [source, target] = [join(directory, 'in.onnx'), join(directory, 'out.onnx')]
  writeFileSync(source, graph)
  const { status, stdout, stderr } = spawnSync(
    python,
    [join(projectDir, 'models/rewrite_graph.py'), command, source, target, ...rest],
    {
      encoding: 'utf8',
      env: { ...process.env, NODE: process.execPath, PYTHONPATH: join(projectDir, 'test/helpers/python') },
    },
  )
  return { status, printed: stdout + stderr, graph: existsSync(target) ? readFileSync(target) : null }
}

/** The values of the output of a written graph, and its input names. */
async function run(graph: Uint8Array | null, feeds: Record<string, ort.Tensor>): Promise<number[]> {
  if (graph === null) throw new Error('nothing was written')
  const session = await ort.InferenceSession.create(graph, { logSeverityLevel: 4 })
  const outputs = await session.run(feeds)
  return [...(outputs['probs']?.data as Float32Array)]
}

const floats = (values: readonly number[], dims: readonly number[]): ort.Tensor =>
  new ort.Tensor('float32', Float32Array.from(values), dims)

function written(graph: GraphBuilder, inputs: readonly Port[], outputShape: Port['shape']): Uint8Array {
  return graph.write({ name: 'g', note: '', inputs, outputs: [{ name: 'probs', shape: outputShape }] })
}

describe.runIf(hasOnnx)('free-batch', () => {
  /** Adds a bias per channel, reshaped to [1, 2, 1, 1], and flattens: the shape of a batch of one in both. */
  const withBias = (flat: readonly number[]): Uint8Array => {
    const graph = new GraphBuilder(randomNumbers(1))
    const bias = graph.add('Reshape', [
      graph.floats([2], Float32Array.of(10, 20)),
      graph.integers(1, 2, 1, 1),
    ])
    const sum = graph.add('Add', ['pixels', bias])
    graph.add('Reshape', [sum, graph.integers(...flat)], {}, 'probs')
    return written(graph, [{ name: 'pixels', shape: [1, 2, 1, 2] }], [1, 4])
  }

  test.each([[[1, 4]], [[1, -1]]])(
    'leaves the shape of a bias, and frees that of the rows, %j',
    async (flat) => {
      const { status, printed, graph } = rewrite('free-batch', withBias(flat))
      expect([status, printed]).toEqual([0, ''])
      const pixels = floats([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 1, 2])
      expect(await run(graph, { pixels })).toEqual([11, 12, 23, 24, 15, 16, 27, 28])
    },
  )

  test('frees one of two reshapes with the same shape: rows and weights may share it', async () => {
    const graph = new GraphBuilder(randomNumbers(1))
    const shape = graph.integers(1, 2)
    const bias = graph.add('Reshape', [graph.floats([2], Float32Array.of(1, 2)), shape])
    graph.add('Add', [graph.add('Reshape', ['pixels', shape]), bias], {}, 'probs')
    const rewritten = rewrite('free-batch', written(graph, [{ name: 'pixels', shape: [1, 2, 1, 1] }], [1, 2]))
    expect(rewritten.printed).toBe('')
    expect(await run(rewritten.graph, { pixels: floats([1, 2, 3, 4], [2, 2, 1, 1]) })).toEqual([2, 4, 4, 6])
  })

  test('writes nothing if the graph cannot run more rows', () => {
    const graph = new GraphBuilder(randomNumbers(1))
    // Rows and a weight side by side: the weight has one row.
    graph.add('Concat', ['pixels', graph.floats([1, 1], Float32Array.of(1))], { axis: { int: 1 } }, 'probs')
    const {
      status,
      printed,
      graph: bytes,
    } = rewrite('free-batch', written(graph, [{ name: 'pixels', shape: [1, 2] }], [1, 3]))
    expect([status, bytes]).toEqual([1, null])
    expect(printed).toMatch(/^the rewritten graph cannot run, and nothing was written: /)
  })

  test('writes nothing if rows would depend on each other', () => {
    const graph = new GraphBuilder(randomNumbers(1))
    const mean = graph.add('ReduceMean', ['pixels'], { axes: { ints: [0] }, keepdims: { int: 1 } })
    graph.add('Add', ['pixels', mean], {}, 'probs')
    const {
      status,
      printed,
      graph: bytes,
    } = rewrite('free-batch', written(graph, [{ name: 'pixels', shape: [1, 2] }], [1, 2]))
    expect([status, bytes]).toEqual([1, null])
    expect(printed).toMatch(/with 3 rows: the outputs differ from those of the original; nothing was written/)
  })

  test('refuses a graph whose batch is free already', () => {
    const graph = new GraphBuilder(randomNumbers(1))
    graph.add('Identity', ['pixels'], {}, 'probs')
    const { status, printed } = rewrite(
      'free-batch',
      written(graph, [{ name: 'pixels', shape: ['N', 2] }], ['N', 2]),
    )
    expect(status).toBe(1)
    expect(printed).toMatch(/the inputs do not all have the same fixed batch size/)
  })
})

describe.runIf(hasOnnx)('join-inputs', () => {
  /** 100 views + 10 up + down, of inputs of several forms; `inner`: the name of a value inside. */
  const columns = (inner: string): Uint8Array => {
    const graph = new GraphBuilder(randomNumbers(1))
    const toFloat = { to: { int: 1 } }
    const views = graph.add('Cast', ['views'], toFloat)
    const up = graph.add('Reshape', ['up', graph.integers(-1, 1)])
    graph.add('Concat', [views, up, 'down'], { axis: { int: 1 } }, inner)
    graph.add('MatMul', [inner, graph.floats([3, 1], Float32Array.of(100, 10, 1))], {}, 'probs')
    const inputs: Port[] = [
      { name: 'views', shape: ['N', 1], element: 'int64' },
      { name: 'up', shape: ['N'] },
      { name: 'down', shape: ['N', 1] },
    ]
    return written(graph, inputs, ['N', 1])
  }
  const matrix = floats([1, 2, 3, 4, 5, 6], [2, 3])

  test('makes one input of several, in the order of the names', async () => {
    const { status, printed, graph } = rewrite('join-inputs', columns('inner'), 'features=views,up,down')
    expect([status, printed]).toEqual([0, ''])
    expect(await run(graph, { features: matrix })).toEqual([123, 456])
    const other = rewrite('join-inputs', columns('inner'), 'features=down,views,up')
    expect(await run(other.graph, { features: matrix })).toEqual([231, 564])
  })

  test('chooses another name if the graph has a value of that name, and prints it', async () => {
    const { status, printed, graph } = rewrite('join-inputs', columns('features'), 'features=views,up,down')
    expect(status).toBe(0)
    expect(printed).toBe('the graph already has a value named features: the input is named features_2\n')
    expect(await run(graph, { features_2: matrix })).toEqual([123, 456])
  })

  test('names an input that the graph lacks', () => {
    const { status, printed, graph } = rewrite('join-inputs', columns('inner'), 'features=views,age')
    expect([status, graph]).toEqual([1, null])
    expect(printed).toBe('the graph has no input age; it has views, up, down\n')
  })
})
