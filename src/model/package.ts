/**
 * Model packages on disk: `<models>/<model_version>/manifest.json` with the files that it names, and the one-line
 * file `<models>/ACTIVE`. Everything is checked before a model may serve; every error is a `ModelError` with a path.
 */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findFeature, type Feature } from './features/index.js'
import { parseManifest, type Manifest } from './manifest.js'
import { ModelError } from './model.js'

const manifestName = 'manifest.json'
const activeName = 'ACTIVE'
const versionForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

export interface ModelPackage {
  readonly manifest: Manifest
  /** The features of the manifest, in its order. */
  readonly features: readonly Feature[]
  /** The head's ONNX file: the very bytes that were hashed, so that what serves is what was checked. */
  readonly head: Uint8Array
}

/** Reads and checks the package of a version. */
export async function readPackage(modelsDir: string, version: string): Promise<ModelPackage> {
  if (!versionForm.test(version)) throw new ModelError(`${JSON.stringify(version)} is no model version`)
  const directory = join(modelsDir, version)
  const manifestFile = join(directory, manifestName)
  const manifest = parseManifest((await readBytes(manifestFile)).toString('utf8'), manifestFile)
  if (manifest.model_version !== version) {
    throw new ModelError(
      `${manifestFile}: model_version is ${manifest.model_version}, and the directory ${version}`,
    )
  }
  const features = findFeatures(manifest, manifestFile)
  const headFile = join(directory, manifest.head.file)
  const head = await readBytes(headFile)
  const sha256 = createHash('sha256').update(head).digest('hex')
  if (sha256 !== manifest.head.sha256) {
    throw new ModelError(`${headFile} has SHA-256 ${sha256}, and its manifest says ${manifest.head.sha256}`)
  }
  return { manifest, features, head }
}

/** Versions that have a manifest, in the order of their names. Whether they are sound, `readPackage` tells. */
export async function listModels(modelsDir: string): Promise<string[]> {
  const entries = await reading(modelsDir, () => readdir(modelsDir, { withFileTypes: true }))
  const names = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink()).map((e) => e.name)
  const found = await Promise.all(
    names.map(async (name) =>
      (await readdir(join(modelsDir, name)).catch((): string[] => [])).includes(manifestName),
    ),
  )
  return names.filter((name, index) => versionForm.test(name) && found[index]).sort()
}

/** The version that `ACTIVE` names. */
export async function activeVersion(modelsDir: string): Promise<string> {
  const file = join(modelsDir, activeName)
  const version = (await readBytes(file)).toString('utf8').trim()
  if (!versionForm.test(version)) throw new ModelError(`${file} must hold one line, a model version`)
  return version
}

function findFeatures(manifest: Manifest, manifestFile: string): Feature[] {
  const features = manifest.features.map(findFeature)
  const unknown = manifest.features.filter((_, index) => features[index] === undefined)
  if (unknown.length > 0) {
    throw new ModelError(`${manifestFile}: features that the catalogue lacks: ${unknown.join(', ')}`)
  }
  return features.filter((feature) => feature !== undefined)
}

function readBytes(file: string): Promise<Buffer> {
  return reading(file, () => readFile(file))
}

async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    const problem = code === 'ENOENT' ? 'does not exist' : `cannot be read: ${(cause as Error).message}`
    throw new ModelError(`${path} ${problem}`, { cause })
  }
}
