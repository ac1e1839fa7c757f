/**
 * Small model packages for tests, written to a directory that is removed when the test ends.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { writeModel, type Constant, type Operator, type Port } from '../../models/onnx-writer.js'
import type { Manifest } from '../../src/model/index.js'

/** The models of this repository. */
export const modelsDir = fileURLToPath(new URL('../../models/', import.meta.url))

/** An empty models directory for one test. */
export function temporaryModelsDir(): string {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-models-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A graph from `features` [N, 1] to `probs` [N, 1] unless `ports` are given. */
export function smallGraph(parts: {
  operators: readonly Operator[]
  constants?: readonly Constant[]
  inputs?: readonly Port[]
  outputs?: readonly Port[]
  opset?: number
  mlOpset?: number
  irVersion?: number
}): Uint8Array {
  return writeModel({
    name: 'small',
    note: 'for a test',
    inputs: [{ name: 'features', shape: ['N', 1] }],
    outputs: [{ name: 'probs', shape: ['N', 1] }],
    constants: [],
    ...parts,
  })
}

/** A valid graph: p_views is the sigmoid of the one feature. */
export const sigmoidGraph = smallGraph({
  operators: [{ type: 'Sigmoid', inputs: ['features'], outputs: ['probs'] }],
})

/** Writes the package `version` and returns its manifest; `changes` replace members of a valid manifest. */
export function writePackage(
  directory: string,
  version: string,
  head: Uint8Array,
  changes: Record<string, unknown> = {},
): Manifest {
  const manifest: Manifest = {
    model_version: version,
    kind: 'transport-test',
    features: ['views_log'],
    head: {
      file: 'head.onnx',
      sha256: createHash('sha256').update(head).digest('hex'),
      inputs: { features: 'features' },
      outputs: { p_views: { name: 'probs' } },
    },
  }
  mkdirSync(join(directory, version), { recursive: true })
  writeFileSync(join(directory, version, 'head.onnx'), head)
  writeFileSync(join(directory, version, 'manifest.json'), JSON.stringify({ ...manifest, ...changes }))
  return manifest
}
