/**
 * Drafts of single graphs, opened and run by a real session: forms that a manifest has to state.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { elementTypes } from '../../../models/onnx-writer.js'
import { smallGraph } from '../../../test/helpers/model-packages.js'
import { silentLog } from '../../base/index.js'
import { draftManifest, type Draft } from './draft.js'

async function draftOf(head: Uint8Array, features?: string): Promise<Draft> {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-draft-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(join(directory, 'head.onnx'), head)
  const given = features === undefined ? undefined : { given: features, isFile: false }
  return draftManifest({ directory, version: 'v', features: given, log: silentLog })
}

const sigmoid = { type: 'Sigmoid', inputs: ['sum'], outputs: ['probs'] }
const feature = (name: string, shape: (string | number)[] = ['N', 1]) => ({ name, shape })
const needs = ({ findings }: Draft): string[] =>
  findings.filter(({ state }) => state === 'needed').map(({ member }) => member)

test('inputs of one feature each are listed, and their names are the features', async () => {
  const head = smallGraph({
    inputs: [feature('views_log'), feature('up_log')],
    operators: [{ type: 'Add', inputs: ['views_log', 'up_log'], outputs: ['sum'] }, sigmoid],
  })
  const draft = await draftOf(head)
  expect(draft.manifest).toMatchObject({
    features: ['views_log', 'up_log'],
    head: { inputs: { features: ['views_log', 'up_log'] }, outputs: { p_views: { name: 'probs' } } },
  })
  expect(needs(draft)).toEqual([])
})

test('a graph that takes only batches of one size states it, and is run with it', async () => {
  const head = smallGraph({
    inputs: [feature('sum', [3, 1])],
    outputs: [feature('probs', [3, 1])],
    operators: [sigmoid],
  })
  const draft = await draftOf(head, 'views_log')
  expect(draft.manifest).toMatchObject({
    head: { batch: 3, inputs: { features: 'sum' }, outputs: { p_views: { name: 'probs' } } },
  })
  expect(needs(draft)).toEqual([])
})

test('half precision is tried in half precision', async () => {
  const half = (name: string) => ({ ...feature(name), element: 'float16' as const })
  const head = smallGraph({
    inputs: [half('x')],
    outputs: [half('probs')],
    operators: [
      { type: 'Cast', inputs: ['x'], outputs: ['sum'], attributes: { to: { int: elementTypes.float32 } } },
      { ...sigmoid, outputs: ['wide'] },
      {
        type: 'Cast',
        inputs: ['wide'],
        outputs: ['probs'],
        attributes: { to: { int: elementTypes.float16 } },
      },
    ],
  })
  const draft = await draftOf(head, 'views_log')
  expect(draft.manifest).toMatchObject({ head: { outputs: { p_views: { name: 'probs' } } } })
  expect(needs(draft)).toEqual([])
})

test('a graph whose rows depend on each other is run one row at a time', async () => {
  const head = smallGraph({
    inputs: [feature('x')],
    operators: [
      { type: 'ReduceMax', inputs: ['x'], outputs: ['max'] },
      { type: 'Sub', inputs: ['x', 'max'], outputs: ['sum'] },
      sigmoid,
    ],
  })
  const draft = await draftOf(head, 'views_log')
  expect(draft.manifest).toMatchObject({ head: { batch: 1 } })
  expect(draft.findings.find(({ member }) => member === 'head.batch')?.source).toBe(
    'a row has other values alone than in a batch',
  )
  expect(
    (await draftOf(smallGraph({ inputs: [feature('sum')], operators: [sigmoid] }), 'up')).manifest?.head,
  ).not.toHaveProperty('batch')
})

test('a graph that declares any number of rows and runs one is run one row at a time', async () => {
  const graphOf = (rows: bigint) =>
    smallGraph({
      inputs: [feature('x')],
      constants: [{ name: 'shape', shape: [2], values: BigInt64Array.of(rows, 1n) }],
      operators: [{ type: 'Reshape', inputs: ['x', 'shape'], outputs: ['sum'] }, sigmoid],
    })
  const draft = await draftOf(graphOf(1n), 'views_log')
  expect(draft.manifest).toMatchObject({ head: { batch: 1, outputs: { p_views: { name: 'probs' } } } })
  expect(draft.findings.find(({ member }) => member === 'head.batch')?.source).toBe(
    'a hidden batch of one: it runs one row, and fails on more',
  )
  expect(needs(draft)).toEqual([])
  expect(needs(await draftOf(graphOf(2n), 'views_log'))).toEqual(['head.outputs'])
})

test('a graph that cannot be opened is not used, and without another one there is no manifest', async () => {
  const draft = await draftOf(Buffer.from('PK not a graph'))
  expect(draft).toMatchObject({ manifest: null, findings: [{ member: 'head', state: 'needed' }] })
  expect(draft.unused).toEqual([expect.stringMatching(/^head\.onnx: /)])
})
