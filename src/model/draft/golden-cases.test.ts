/** Golden cases that are taken into a package. */
import { hash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Manifest } from '../package/manifest.js'
import { takeGolden } from './golden-cases.js'

const manifest: Manifest = {
  model_version: 'm',
  kind: 'trained',
  features: ['views_log'],
  head: {
    file: 'head.onnx',
    sha256: '0'.repeat(64),
    inputs: { features: 'x' },
    outputs: { p_up: { name: 'p' } },
  },
}

let directory: string
let file: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'understudy-golden-'))
  file = join(directory, 'golden.json')
  onTestFinished(() => rmSync(directory, { recursive: true }))
})

test('cases that do not fit the manifest leave the package as it is', async () => {
  writeFileSync(file, JSON.stringify({ cases: [{ features: {}, heads: { p_up: 0.5 } }] }))
  await expect(takeGolden(directory, manifest, file)).rejects.toThrow('cases[0].features lacks views_log')
  expect(readFileSync(file, 'utf8')).toBe(JSON.stringify({ cases: [{ features: {}, heads: { p_up: 0.5 } }] }))
})

test('a file that states what a missing value was in the training decides it, and must not contradict the manifest', async () => {
  const cases = [{ features: { views_log: null }, heads: { p_up: 0.5 } }]
  for (const missing of ['imputed', 'nan'] as const) {
    writeFileSync(file, JSON.stringify({ missing, cases }))
    const taken = await takeGolden(directory, { ...manifest, draft: ['kind', 'missing'] }, file)
    expect(taken.manifest).toMatchObject({ missing, draft: ['kind'] })
  }
  await expect(takeGolden(directory, manifest, file)).rejects.toThrow(
    'missing is nan, but the manifest has imputed',
  )
})

test('golden tokens move into the manifest, also from a file that is in place', async () => {
  const golden_tokens = [{ text: 'a', ids: [1] }]
  writeFileSync(
    file,
    JSON.stringify({ cases: [{ features: { views_log: 1 }, heads: { p_up: 0.5 } }], golden_tokens }),
  )
  const text = { golden_tokens: [] } as never
  const { manifest: taken } = await takeGolden(directory, { ...manifest, text }, file)
  expect(taken.text?.golden_tokens).toEqual(golden_tokens)
  const written = readFileSync(file, 'utf8')
  expect(Object.keys(JSON.parse(written) as object)).toEqual(['cases'])
  expect(taken.golden?.sha256).toBe(hash('sha256', written))
})
