/**
 * Which versions a models directory holds, and which of them are selected: the file `ACTIVE` names the version that
 * serves, the file `SHADOW` names the shadow versions. Every error is a `ModelError`.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../base/index.js'
import { ModelError } from '../model.js'
import { accessPromptly } from './read-file.js'
import { isVersion, manifestName } from './read-package.js'

const activeName = 'ACTIVE'
const shadowName = 'SHADOW'
/** Each shadow scores every cycle; a longer list is treated as a mistake. */
export const shadowCountMax = 8

/**
 * Versions that have a manifest, or that this user may not read, sorted by name. `readPackage` checks whether a package is valid,
 * and says what is the matter with it.
 */
export async function listModels(modelsDir: string): Promise<string[]> {
  const entries = await accessPromptly(modelsDir, () => readdir(modelsDir, { withFileTypes: true }))
  const names = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink()).map((e) => e.name)
  const versions = names.filter(isVersion)
  const arePackages = await Promise.all(versions.map((version) => mayBePackage(join(modelsDir, version))))
  return versions.filter((_, index) => arePackages[index]).sort()
}

/** A link to nothing or to a file is no package. */
const noDirectory: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR']

async function mayBePackage(directory: string): Promise<boolean> {
  try {
    return (await accessPromptly(directory, () => readdir(directory))).includes(manifestName)
  } catch (error) {
    return !noDirectory.includes(codeOf((error as ModelError).cause))
  }
}

/** The version that `ACTIVE` names. */
export async function activeVersion(modelsDir: string): Promise<string> {
  const file = join(modelsDir, activeName)
  const absence = 'does not exist; `understudy models activate <version>` writes it'
  const bytes = await accessPromptly(file, () => readFile(file), absence).catch(async (error: unknown) => {
    await accessPromptly(`the models directory ${modelsDir}`, () => stat(modelsDir))
    throw error
  })
  const version = bytes.toString('utf8').trim()
  if (!isVersion(version)) throw new ModelError(`${file} must contain one line with a model version`)
  return version
}

/** Changes whenever `ACTIVE` is written, also with the same version; null if it cannot be read. */
export async function activeStamp(modelsDir: string): Promise<string | null> {
  const file = join(modelsDir, activeName)
  const stats = await accessPromptly(file, () => stat(file, { bigint: true })).catch(() => null)
  return stats === null ? null : String(stats.mtimeNs)
}

/** The versions that `SHADOW` names, one per line, in its order; none if the file does not exist. */
export async function shadowVersions(modelsDir: string): Promise<string[]> {
  const file = join(modelsDir, shadowName)
  const text = await accessPromptly(file, () => readFile(file, 'utf8')).catch((error: unknown) => {
    if (error instanceof ModelError && codeOf(error.cause) === 'ENOENT') return ''
    throw error
  })
  const versions = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const isValid = versions.every(isVersion) && new Set(versions).size === versions.length
  if (!isValid || versions.length > shadowCountMax) {
    throw new ModelError(
      `${file} must contain at most ${shadowCountMax} distinct model versions, one per line`,
    )
  }
  return versions
}
