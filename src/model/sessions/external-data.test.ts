/**
 * Graphs whose weights are in other files: those that the manifest lists are hashed and passed from memory.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { temporaryModelsDir, writePackage } from '../../../test/helpers/model-packages.js'
import {
  bytesField,
  externalTensor,
  message,
  numberField,
  portOf,
} from '../../../test/helpers/onnx-fields.js'
import { readPackage } from '../package/read-package.js'
import { verifyPackage } from '../verification/verify.js'
import { externalLocations, findExternalData } from './external-data.js'
import { openHeadsProgram } from './heads-program.js'
import { planModel } from './plans.js'

/** 0.25 as float32, little-endian: the score of a feature of 1. */
const weight = Uint8Array.of(0, 0, 0x80, 0x3e)
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** `probs` is `features` [N, 1] times a weight that is in the file at `location`. */
function weightedGraph(...locations: string[]): Uint8Array {
  const names = locations.map((_, index) => `weight${index}`)
  const products = names.map((name, index) =>
    message(
      bytesField(1, index === 0 ? 'features' : `product${index - 1}`),
      bytesField(1, name),
      bytesField(2, index + 1 === names.length ? 'probs' : `product${index}`),
      bytesField(4, 'Mul'),
    ),
  )
  const graph = message(
    ...products.map((product) => bytesField(1, product)),
    bytesField(2, 'graph'),
    ...names.map((name, index) => bytesField(5, externalTensor(name, locations[index] ?? ''))),
    bytesField(11, portOf('features', ['N', 1])),
    bytesField(12, portOf('probs', ['N', 1])),
  )
  const opset = bytesField(8, message(bytesField(1, ''), numberField(2, 17)))
  return message(numberField(1, 8), bytesField(7, graph), opset)
}

interface Delivery {
  /** Paths as the graph writes them. */
  readonly locations: readonly string[]
  /** The member of the manifest; without hashes, those of the files. */
  readonly listed: readonly { readonly file: string; readonly sha256?: string }[]
  /** Files of the package, all with the weight. */
  readonly files?: readonly string[]
  readonly head?: string
}

function deliver({
  locations,
  listed,
  files = listed.map(({ file }) => file),
  head = 'head.onnx',
}: Delivery) {
  const modelsDir = temporaryModelsDir()
  const graph = weightedGraph(...locations)
  const member = listed.map((data) => ({ sha256: sha256(weight), ...data }))
  writePackage(modelsDir, 'v', graph, {
    head: {
      file: head,
      sha256: sha256(graph),
      ...(member.length === 0 ? {} : { external_data: member }),
      inputs: { features: 'features' },
      outputs: { p_views: { name: 'probs' } },
    },
  })
  for (const [file, bytes] of [[head, graph] as const, ...files.map((file) => [file, weight] as const)]) {
    mkdirSync(dirname(join(modelsDir, 'v', file)), { recursive: true })
    writeFileSync(join(modelsDir, 'v', file), bytes)
  }
  return modelsDir
}

/** The head for a feature of 1. */
async function scoreOf(delivery: Delivery): Promise<number | undefined> {
  const modelsDir = deliver(delivery)
  const plans = planModel(await readPackage(modelsDir, 'v'), { executionProviders: ['cpu'], log: silentLog })
  const program = await openHeadsProgram(plans.heads, silentLog)
  const none = new Float32Array(0)
  const matrices = { features: Float32Array.of(1), text: none, image: none, gallery_index: none }
  return (await program.run({ count: 1, matrices })).heads[0]?.[0]
}

test.each<[string, Delivery]>([
  ['beside it', { locations: ['head.onnx_data'], listed: [{ file: 'head.onnx_data' }] }],
  ['in a folder', { locations: ['data/w.bin'], listed: [{ file: 'data/w.bin' }] }],
  [
    'beside a graph in a folder',
    { locations: ['w.bin'], listed: [{ file: 'graphs/w.bin' }], head: 'graphs/head.onnx' },
  ],
  [
    'elsewhere in the package',
    { locations: ['../weights/w.bin'], listed: [{ file: 'weights/w.bin' }], head: 'graphs/head.onnx' },
  ],
  ['in a longer form of the path', { locations: ['./x/../w.bin'], listed: [{ file: 'w.bin' }] }],
])('weights are read from a file %s', async (_, delivery) => {
  expect(await scoreOf(delivery)).toBe(0.25)
})

test('weights are read from several files, in any order', async () => {
  const listed = [{ file: 'b.bin' }, { file: 'a.bin' }]
  expect(await scoreOf({ locations: ['a.bin', 'b.bin'], listed })).toBe(0.0625)
})

test.each<[string, Delivery, string]>([
  [
    'is not in the manifest',
    { locations: ['w.bin'], listed: [], files: ['w.bin'] },
    'head.onnx keeps weights in another file (external data), w.bin: list it as external_data of this graph in the ' +
      'manifest, with its SHA-256, or save the graph as one file',
  ],
  [
    'has another hash',
    { locations: ['w.bin'], listed: [{ file: 'w.bin', sha256: '0'.repeat(64) }] },
    `w.bin has SHA-256 ${sha256(weight)}; the manifest states ${'0'.repeat(64)}`,
  ],
  [
    'is one that the graph does not name',
    { locations: ['w.bin'], listed: [{ file: 'w.bin' }, { file: 'more.bin' }] },
    'head.onnx keeps no weights in more.bin: remove external_data',
  ],
  [
    'is outside the package',
    { locations: ['../../w.bin'], listed: [{ file: 'w.bin' }] },
    'head.onnx keeps weights in another file (external data), ../../w.bin: save the graph with its weights in one file, or in ' +
      'a file beside it',
  ],
  [
    'is at an absolute path',
    { locations: ['/etc/hostname'], listed: [{ file: 'w.bin' }] },
    'head.onnx keeps weights in another file (external data), /etc/hostname: save the graph with its weights in one file, or ' +
      'in a file beside it',
  ],
])('a graph is refused when its file of weights %s', async (_, delivery, message) => {
  await expect(scoreOf(delivery)).rejects.toThrow(message)
})

test('a package with weights in another file passes verification, and its files are hashed', async () => {
  const modelsDir = deliver({ locations: ['w.bin'], listed: [{ file: 'w.bin' }] })
  const options = { modelsDir, version: 'v', executionProviders: ['cpu'], log: silentLog }
  const checks = new Map((await verifyPackage(options)).checks.map((line) => [line.check, line]))
  expect(checks.get('files')?.sentence).toMatch(/^2 files of .* have the SHA-256 of the manifest/)
  expect(checks.get('graph head')?.state).toBe('pass')
  // The graph has no sigmoid, so it fails later, with its weight.
  expect(checks.get('load')?.state).toBe('pass')
})

test('the files of a graph without a manifest are found beside it', async () => {
  const modelsDir = deliver({ locations: ['data/w.bin'], listed: [{ file: 'data/w.bin' }] })
  const file = join(modelsDir, 'v', 'head.onnx')
  expect(await findExternalData(file, weightedGraph('data/w.bin'))).toEqual([
    { file: join(modelsDir, 'v', 'data/w.bin'), location: 'data/w.bin', sha256: sha256(weight) },
  ])
  await expect(findExternalData(file, weightedGraph('absent.bin'))).rejects.toThrow(
    /absent\.bin does not exist/,
  )
})

test('files outside the directory of a graph are not even read', async () => {
  const modelsDir = deliver({ locations: ['w.bin'], listed: [{ file: 'w.bin' }] })
  const file = join(modelsDir, 'v', 'data', 'head.onnx')
  // To read the device would never end.
  for (const location of ['/dev/zero', '../w.bin', 'a/../../w.bin', '..'])
    await expect(findExternalData(file, weightedGraph(location))).rejects.toThrow(
      'save the graph with its weights in one file, or in a file beside it',
    )
})

test('a long path is found, and bytes that only look like an entry are not', () => {
  const long = `${'folder/'.repeat(40)}w.bin`
  expect(externalLocations(weightedGraph(long, 'w.bin', long))).toEqual([long, 'w.bin'])
  const key = Buffer.from('\x0a\x08location\x12', 'latin1')
  expect(externalLocations(Buffer.concat([key, Uint8Array.of(0xff, 0xff, 0xff)]))).toEqual([])
  expect(externalLocations(key)).toEqual([])
})
