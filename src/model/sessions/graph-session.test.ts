/**
 * What a graph file must be, with the real runtime: versions, external data, files that are not graphs.
 */
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as ort from 'onnxruntime-node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../../base/index.js'
import { mlDomain } from '../../../models/onnx-writer.js'
import {
  bytesField,
  externalTensor,
  message,
  numberField,
  portOf,
} from '../../../test/helpers/onnx-fields.js'
import { modelsDir, smallGraph } from '../../../test/helpers/model-packages.js'
import type { GraphPlan } from './plans.js'
import { readPorts } from '../verification/port-checks.js'
import { openGraph } from './graph-session.js'

type Versions = Pick<Parameters<typeof smallGraph>[0], 'opset' | 'mlOpset' | 'irVersion'>

describe('the newest files that docs/models.md names are opened, and newer ones are refused', () => {
  const [irVersion, opset, mlOpset] = [13, 26, 5]

  test('docs/models.md names them, and the pinned ONNX Runtime', () => {
    const read = (file: string): string => readFileSync(join(modelsDir, '..', file), 'utf8')
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
    const document = read('docs/models.md')
    expect(document).toContain(`ONNX Runtime ${dependencies['onnxruntime-node']},`)
    expect(document).toContain(`\`ai.onnx\` up to opset ${opset},`)
    expect(document).toContain(`\`${mlDomain}\` up to opset ${mlOpset},`)
    expect(document).toContain(`files up to IR version ${irVersion}:`)
  })

  test.each<[Versions, RegExp | null]>([
    [{ irVersion: 3 }, null],
    [{ irVersion, opset, mlOpset }, null],
    [
      { irVersion: irVersion + 1 },
      /: tried cpu; cpu: Unsupported model IR version: 14, max supported IR version: 13$/,
    ],
    [{ opset: opset + 1 }, /till opset 26/],
    [{ mlOpset: mlOpset + 1 }, /till opset 5/],
  ])('%j', async (versions, refusal) => {
    const attributes = { offset: { floats: [0] }, scale: { floats: [1] } }
    const graph = smallGraph({
      operators: [{ type: 'Scaler', inputs: ['features'], outputs: ['probs'], domain: mlDomain, attributes }],
      ...versions,
    })
    const opening = open(planOf(graph))
    if (refusal === null) expect((await opening).inputs).toHaveLength(1)
    else await expect(opening).rejects.toThrow(refusal)
  })
})

describe('the ports of a graph', () => {
  test('are those of its session, without inputs that have a value', async () => {
    const graph = smallGraph({
      inputs: [
        { name: 'features', shape: ['N', 1] },
        { name: 'weight', shape: [1, 1] },
      ],
      constants: [{ name: 'weight', shape: [1, 1], values: Float32Array.of(2) }],
      operators: [{ type: 'MatMul', inputs: ['features', 'weight'], outputs: ['probs'] }],
    })
    expect(await open(planOf(graph))).toEqual({
      inputs: [{ name: 'features', dtype: 'float32', shape: ['N', 1] }],
      outputs: [{ name: 'probs', dtype: 'float32', shape: ['N', 1] }],
    })
  })

  test('may have an unknown rank', async () => {
    const graph = smallGraph({
      inputs: [{ name: 'features', shape: null }],
      outputs: [{ name: 'probs', shape: null }],
      operators: [{ type: 'Relu', inputs: ['features'], outputs: ['probs'] }],
    })
    expect((await open(planOf(graph))).inputs).toEqual([{ name: 'features', dtype: 'float32', shape: null }])
  })
})

test('a session whose graph cannot serve is released', async () => {
  const create = vi.spyOn(ort.InferenceSession, 'create')
  onTestFinished(() => create.mockRestore())
  const graph = smallGraph({ operators: [{ type: 'Relu', inputs: ['features'], outputs: ['probs'] }] })
  const opening = openGraph(planOf(graph), { problemsOf: () => ['another width'] }, silentLog)
  await expect(opening).rejects.toThrow(/: another width$/)
  const session = await (create.mock.results[0]!.value as Promise<ort.InferenceSession>)
  const features = new ort.Tensor('float32', Float32Array.of(1), [1, 1])
  await expect(session.run({ features })).rejects.toThrow(/disposed/)
})

describe('a file that is not an ONNX model is refused with an error that names its format', () => {
  test.each<[string, string | Uint8Array, RegExp]>([
    ['empty', '', /is not an ONNX model: it is empty$/],
    ['an HTML page', '<!DOCTYPE html>\n<html>Sign in</html>', /it is an HTML page/],
    ['a Git LFS pointer', 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a', /git lfs pull/],
    ['a checkpoint of PyTorch', 'PK\x03\x04 archive/data.pkl', /ZIP archive, as PyTorch writes/],
    ['without a graph', numberField(1, 8), /is not an ONNX model: its 2 bytes are truncated or have another/],
    ['cut off', smallGraph({ operators: [] }).subarray(0, 40), /its 40 bytes are truncated/],
  ])('%s', async (_, content, problem) => {
    const bytes = typeof content === 'string' ? Buffer.from(content, 'latin1') : content
    await expect(open(planOf(bytes))).rejects.toThrow(problem)
  })
})

/**
 * The graph multiplies its input by a weight that is in another file: the score of 1 is the weight. `graph` fields
 * that are repeated are merged by protobuf, and initializers may be sparse or attributes of a node.
 */
describe('a graph with external data is refused, wherever it names the file', () => {
  const multiply = message(
    bytesField(1, 'features'),
    bytesField(1, 'weight'),
    bytesField(2, 'probs'),
    bytesField(4, 'Mul'),
  )
  const body = message(
    bytesField(1, multiply),
    bytesField(2, 'graph'),
    bytesField(11, portOf('features', ['N', 1])),
    bytesField(12, portOf('probs', ['N', 1])),
  )
  const sparse = (location: string): Uint8Array =>
    bytesField(
      15,
      message(
        bytesField(1, externalTensor('weight', location)),
        bytesField(
          2,
          message(numberField(1, 1), numberField(2, 7), bytesField(8, 'at'), bytesField(9, Buffer.alloc(8))),
        ),
        numberField(3, 1),
      ),
    )
  const constant = (location: string): Uint8Array =>
    message(
      bytesField(2, 'weight'),
      bytesField(4, 'Constant'),
      bytesField(
        5,
        message(
          bytesField(1, 'value'),
          bytesField(5, externalTensor('weight', location)),
          numberField(20, 4),
        ),
      ),
    )
  /** An `If` whose branches return the tensor. */
  const subgraph = (location: string): Uint8Array => {
    const branch = message(
      bytesField(2, 'branch'),
      bytesField(5, externalTensor('inner', location)),
      bytesField(12, portOf('inner', [1])),
    )
    const attribute = (name: string): Uint8Array =>
      bytesField(5, message(bytesField(1, name), bytesField(6, branch), numberField(20, 5)))
    return message(
      bytesField(1, 'condition'),
      bytesField(2, 'weight'),
      bytesField(4, 'If'),
      attribute('then_branch'),
      attribute('else_branch'),
    )
  }
  const condition = message(numberField(2, 9), bytesField(8, 'condition'), bytesField(9, Uint8Array.of(1)))
  const forms: Record<string, (location: string) => Uint8Array[]> = {
    'an initializer': (location) => [message(body, bytesField(5, externalTensor('weight', location)))],
    'a repeated graph field': (location) => [body, bytesField(5, externalTensor('weight', location))],
    'a sparse initializer': (location) => [message(body, sparse(location))],
    'an attribute': (location) => [message(bytesField(1, constant(location)), body)],
    'a subgraph': (location) => [message(bytesField(1, subgraph(location)), body, bytesField(5, condition))],
  }

  test.each(Object.entries(forms))('%s', async (_, graphs) => {
    // The first is in the working directory of this process, as the data directory may be in that of a service.
    const file = join(process.cwd(), 'package.json')
    // The last one is ONNX Runtime's own mark for an address in its memory.
    const locations = ['package.json', file, `${'../'.repeat(20)}${file}`, '*/_ORT_MEM_ADDR_/*']
    for (const location of locations) {
      const graph = message(
        numberField(1, 8),
        ...graphs(location).map((part) => bytesField(7, part)),
        bytesField(8, message(bytesField(1, ''), numberField(2, 17))),
      )
      const opening = readPorts(planOf(graph), { executionProviders: ['cpu'], log: silentLog })
      await expect(opening, location).rejects.toThrow(
        /graph\.onnx keeps weights in another file \(external data\)/,
      )
    }
  })
})

function planOf(graph: Uint8Array): GraphPlan {
  const file = join(temporaryDirectory(), 'graph.onnx')
  writeFileSync(file, graph)
  const sha256 = createHash('sha256').update(graph).digest('hex')
  return { file, sha256, providers: ['cpu'], intraOpThreads: 1 }
}

async function open(plan: GraphPlan) {
  return (await openGraph(plan, { problemsOf: () => [] }, silentLog)).ports
}

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-graph-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return directory
}
