/**
 * Reads a package from disk: `<models>/<model_version>/manifest.json` and the files that it names. Every error is a
 * `ModelError` that names a path.
 */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { findFeature, nearestFeature } from '../features/catalogue.js'
import type { Feature } from '../features/feature.js'
import { ModelError } from '../model.js'
import type { Manifest } from './manifest.js'
import { featureNames, namedFiles, parseEncoders, parseManifest } from './parse-manifest.js'
import { accessPromptly } from './read-file.js'

export const manifestName = 'manifest.json'
const versionPattern = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

export interface ModelPackage {
  /** Absolute or relative to the working directory, as `modelsDir` is; files of the manifest are relative to it. */
  readonly directory: string
  readonly manifest: Manifest
  /** The features of the manifest, in its order. */
  readonly features: readonly Feature[]
  /** Every file that the manifest names. */
  readonly files: readonly PackageFileEntry[]
}

export interface PackageFileEntry {
  /** The member of the manifest: `head`, `head[1]`, `text`, `text.tokenizer`, `image`, `golden`. */
  readonly member: string
  /** Relative to the package. */
  readonly file: string
  readonly path: string
  /** The hash that the manifest states; `readHashed` compares it with the file. */
  readonly sha256: string
  readonly bytes: number
}

/**
 * Reads the package of a version and checks its manifest, its features and that its files exist. It does not hash the
 * files, which may be large: each reader of a file checks its hash.
 */
export async function readPackage(
  modelsDir: string,
  version: string,
  parse = parseManifest,
): Promise<ModelPackage> {
  const { directory, manifest, manifestFile } = await readManifest(modelsDir, version, parse)
  const features = findFeatures(manifest, manifestFile)
  const files = await Promise.all(
    namedFiles(manifest).map(async ({ member, file, sha256 }) => {
      const path = join(directory, file)
      const stats = await accessPromptly(path, () => stat(path))
      if (!stats.isFile()) throw new ModelError(`${path} is not a file`)
      return { member, file, path, sha256, bytes: stats.size }
    }),
  )
  return { directory, manifest, features, files }
}

/** Reads a package that may lack heads. */
export async function readEncoders(modelsDir: string, version: string): Promise<ModelPackage> {
  return readPackage(modelsDir, version, parseEncoders)
}

/** Reads the manifest of a version, and checks it alone. */
export async function readManifest(
  modelsDir: string,
  version: string,
  parse = parseManifest,
): Promise<{ directory: string; manifest: Manifest; manifestFile: string }> {
  checkVersion(version)
  const directory = join(modelsDir, version)
  const manifestFile = join(directory, manifestName)
  const manifest = parse(
    await accessPromptly(manifestFile, () => readFile(manifestFile, 'utf8')),
    manifestFile,
  )
  if (manifest.model_version !== version) {
    throw new ModelError(
      `${manifestFile}: model_version is ${manifest.model_version}, but the directory is named ${version}`,
    )
  }
  return { directory, manifest, manifestFile }
}

/** Whether `name` has the form of a model version, which names a directory of the models directory. */
export function isVersion(name: string): boolean {
  return versionPattern.test(name)
}

function checkVersion(version: string): void {
  if (!isVersion(version))
    throw new ModelError(
      `${JSON.stringify(version)} is not a model version: a version is the name of a directory in the models directory, ` +
        'of letters, digits, ., _ and -, and begins with a letter or a digit',
    )
}

function findFeatures(manifest: Manifest, manifestFile: string): Feature[] {
  const names = featureNames(manifest)
  const features = names.map(findFeature)
  const unknown = names.filter((_, index) => features[index] === undefined)
  if (unknown.length > 0) {
    const list = unknown.map((name) => `${name}${nearestFeature(name)}`).join(', ')
    throw new ModelError(`${manifestFile}: features that the catalogue lacks: ${list}`)
  }
  return features.filter((feature) => feature !== undefined)
}
