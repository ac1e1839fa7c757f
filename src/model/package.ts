/**
 * Model packages on disk: `<models>/<model_version>/manifest.json` with the files that it names, and the lines of
 * `<models>/ACTIVE` and `<models>/SHADOW`. Every error is a `ModelError` with a path.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { findFeature, type Feature } from './features/index.js'
import { namedFiles, parseManifest } from './manifest-file.js'
import type { Manifest } from './manifest.js'
import { ModelError } from './model.js'

const manifestName = 'manifest.json'
const activeName = 'ACTIVE'
const shadowName = 'SHADOW'
const versionForm = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
/** Each shadow scores every cycle: more of them would be a mistake of the file. */
export const shadowCountMax = 8

export interface ModelPackage {
  /** Where the package lies; files of the manifest are relative to it. */
  readonly directory: string
  readonly manifest: Manifest
  /** The features of the manifest, in its order. */
  readonly features: readonly Feature[]
  /** Every file that the manifest names. */
  readonly files: readonly PackageFileEntry[]
}

export interface PackageFileEntry {
  /** In the manifest: `head`, `head[1]`, `text`, `text.tokenizer`, `image`, `golden`. */
  readonly place: string
  /** Relative to the package. */
  readonly file: string
  readonly path: string
  /** As the manifest says; `hashFile` tells whether it is true. */
  readonly sha256: string
  readonly bytes: number
}

/**
 * Reads the package of a version: its manifest is sound, its features are known, its files are there. Their hashes are
 * not looked at, since files may be large: whoever reads one for use does so, and `hashProblem` tells.
 */
export async function readPackage(modelsDir: string, version: string): Promise<ModelPackage> {
  const { directory, manifest, manifestFile } = await readManifest(modelsDir, version)
  const features = findFeatures(manifest, manifestFile)
  const files = await Promise.all(
    namedFiles(manifest).map(async ({ place, file, sha256 }) => {
      const path = join(directory, file)
      const { size, isFile } = await reading(path, async () => {
        const stats = await stat(path)
        return { size: stats.size, isFile: stats.isFile() }
      })
      if (!isFile) throw new ModelError(`${path} is no file`)
      return { place, file, path, sha256, bytes: size }
    }),
  )
  return { directory, manifest, features, files }
}

/** The manifest alone, and where it lies. */
export async function readManifest(
  modelsDir: string,
  version: string,
): Promise<{ directory: string; manifest: Manifest; manifestFile: string }> {
  checkVersion(version)
  const directory = join(modelsDir, version)
  const manifestFile = join(directory, manifestName)
  const manifest = parseManifest((await readBytes(manifestFile)).toString('utf8'), manifestFile)
  if (manifest.model_version !== version) {
    throw new ModelError(
      `${manifestFile}: model_version is ${manifest.model_version}, and the directory ${version}`,
    )
  }
  return { directory, manifest, manifestFile }
}

/** Another text whenever the manifest has been written again or replaced. */
export async function manifestStamp(modelsDir: string, version: string): Promise<string> {
  const manifestFile = join(modelsDir, version, manifestName)
  const { ino, size, ctimeMs } = await reading(manifestFile, () => stat(manifestFile))
  return `${ino} ${size} ${ctimeMs}`
}

/** What is wrong with a file's hash, or null. */
export async function hashProblem({ path, sha256 }: PackageFileEntry): Promise<string | null> {
  const found = await hashFile(path)
  return found === sha256 ? null : `${path} has SHA-256 ${found}, and its manifest says ${sha256}`
}

/** SHA-256 of a file, read a piece at a time. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  await reading(path, () => pipeline(createReadStream(path), hash))
  return hash.digest('hex')
}

/** The bytes of a file whose hash must be `sha256`: what is used is what was checked. */
export async function readHashed(path: string, sha256: string): Promise<Buffer> {
  const bytes = await readBytes(path)
  const found = createHash('sha256').update(bytes).digest('hex')
  if (found === sha256) return bytes
  throw new ModelError(`${path} has SHA-256 ${found}, and its manifest says ${sha256}`)
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
  const absence = 'does not exist; `understudy models activate <version>` writes it'
  const bytes = await readBytes(file, absence).catch(async (error: unknown) => {
    await reading(`the directory of models ${modelsDir}`, () => stat(modelsDir))
    throw error
  })
  const version = bytes.toString('utf8').trim()
  if (!versionForm.test(version)) throw new ModelError(`${file} must hold one line, a model version`)
  return version
}

/** The versions that `SHADOW` names, one a line, in its order; none where there is no such file. */
export async function shadowVersions(modelsDir: string): Promise<string[]> {
  const file = join(modelsDir, shadowName)
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new ModelError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
  })
  const versions = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const isSound = versions.every((version) => versionForm.test(version))
  if (!isSound || new Set(versions).size !== versions.length || versions.length > shadowCountMax) {
    throw new ModelError(`${file} must hold up to ${shadowCountMax} model versions, one a line, none twice`)
  }
  return versions
}

function checkVersion(version: string): void {
  if (!versionForm.test(version))
    throw new ModelError(
      `${JSON.stringify(version)} is no model version: that is the name of a directory in the directory of models, of ` +
        'letters, digits, ., _ and -, a letter or digit first',
    )
}

function findFeatures(manifest: Manifest, manifestFile: string): Feature[] {
  const features = manifest.features.map(findFeature)
  const unknown = manifest.features.filter((_, index) => features[index] === undefined)
  if (unknown.length > 0) {
    throw new ModelError(`${manifestFile}: features that the catalogue lacks: ${unknown.join(', ')}`)
  }
  return features.filter((feature) => feature !== undefined)
}

function readBytes(file: string, absence?: string): Promise<Buffer> {
  return reading(file, () => readFile(file), absence)
}

async function reading<T>(what: string, read: () => Promise<T>, absence = 'does not exist'): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code
    const problem = code === 'ENOENT' ? absence : `cannot be read: ${(cause as Error).message}`
    throw new ModelError(`${what} ${problem}`, { cause })
  }
}
