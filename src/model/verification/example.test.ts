/**
 * The package example-1: made by its script, small, whole, and different for different posts.
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { silentLog } from '../../base/index.js'
import { modelsDir, temporaryModelsDir } from '../../../test/helpers/model-packages.js'
import { readGolden } from './golden.js'
import { verifyPackage } from '../index.js'
import { readHashed } from '../package/read-file.js'
import { readPackage } from '../package/read-package.js'

const version = 'example-1'
/** All that the package has: no file is left that the script does not make. */
const fileNames = readdirSync(join(modelsDir, version), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(join(modelsDir, version), join(entry.parentPath, entry.name)))

test('the script makes the committed files, byte for byte, well under a megabyte', () => {
  const directory = temporaryModelsDir()
  const script = fileURLToPath(new URL('../../../models/make-example.ts', import.meta.url))
  const hooks = new URL('../../../bench/typescript.mjs', import.meta.url).href
  execFileSync(process.execPath, ['--import', hooks, script, directory])
  let bytes = 0
  for (const file of fileNames) {
    const committed = readFileSync(join(modelsDir, version, file))
    bytes += committed.length
    expect(Buffer.compare(readFileSync(join(directory, file)), committed), file).toBe(0)
  }
  expect(bytes).toBeLessThan(500_000)
})

test('its manifest matches its files, and its kind is not trained', async () => {
  const modelPackage = await readPackage(modelsDir, version)
  for (const entry of modelPackage.files) await readHashed(entry.path, entry.sha256)
  expect(modelPackage.manifest.kind).toBe('transport-test')
  expect(modelPackage.manifest.note).toMatch(/not a trained model/i)
  expect(modelPackage.files.map(({ member }) => member)).toEqual([
    'head',
    'text',
    'image',
    'text.tokenizer',
    'golden',
  ])
})

test('it passes every check, with golden cases made by other libraries', async () => {
  const report = await verifyPackage({ modelsDir, version, executionProviders: ['cpu'], log: silentLog })
  expect(report.checks.filter(({ state }) => state !== 'pass')).toEqual([])
  expect(report.checks.map(({ check }) => check)).toEqual(
    expect.arrayContaining(['golden', 'tokenizer', 'text', 'image']),
  )
})

test('its golden cases have a text, one image, several images, and a row with everything missing', async () => {
  const golden = await readGolden(await readPackage(modelsDir, version))
  const cases = golden?.cases ?? []
  expect(cases.some(({ record, images }) => record !== undefined && images?.length === 1)).toBe(true)
  expect(cases.some(({ images }) => images?.length === 2)).toBe(true)
  const bare = cases.filter(({ record, images }) => record === undefined && images === undefined)
  expect(
    bare.map(({ features }) => Object.keys(features ?? {}).filter((name) => features?.[name] !== 0)),
  ).toEqual([['views_missing']])
})
