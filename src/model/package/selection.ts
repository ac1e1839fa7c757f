/**
 * Which versions a models directory holds, and which of them are selected: the file `ACTIVE` names the version that
 * serves, the file `SHADOW` names the shadow versions. Every error is a `ModelError`.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../../base/index.js'
import { ModelError } from '../model.js'
import { accessFile, readBytes } from './read-file.js'
import { isVersion, manifestName } from './read-package.js'

const activeName = 'ACTIVE'
const shadowName = 'SHADOW'
/** Each shadow scores every cycle; a longer list is treated as a mistake. */
export const shadowCountMax = 8

/** Versions that have a manifest, sorted by name. `readPackage` checks whether a package is valid. */
export async function listModels(modelsDir: string): Promise<string[]> {
  const entries = await accessFile(modelsDir, () => readdir(modelsDir, { withFileTypes: true }))
  const names = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink()).map((e) => e.name)
  const hasManifest = await Promise.all(
    names.map(async (name) =>
      (await readdir(join(modelsDir, name)).catch((): string[] => [])).includes(manifestName),
    ),
  )
  return names.filter((name, index) => isVersion(name) && hasManifest[index]).sort()
}

/** The version that `ACTIVE` names. */
export async function activeVersion(modelsDir: string): Promise<string> {
  const file = join(modelsDir, activeName)
  const absence = 'does not exist; `understudy models activate <version>` writes it'
  const bytes = await readBytes(file, absence).catch(async (error: unknown) => {
    await accessFile(`the models directory ${modelsDir}`, () => stat(modelsDir))
    throw error
  })
  const version = bytes.toString('utf8').trim()
  if (!isVersion(version)) throw new ModelError(`${file} must contain one line with a model version`)
  return version
}

/** Changes whenever `ACTIVE` is written, also with the same version; null if it cannot be read. */
export async function activeStamp(modelsDir: string): Promise<string | null> {
  const stats = await stat(join(modelsDir, activeName), { bigint: true }).catch(() => null)
  return stats === null ? null : String(stats.mtimeNs)
}

/** The versions that `SHADOW` names, one per line, in its order; none if the file does not exist. */
export async function shadowVersions(modelsDir: string): Promise<string[]> {
  const file = join(modelsDir, shadowName)
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    if (codeOf(cause) === 'ENOENT') return ''
    throw new ModelError(`${file} cannot be read: ${(cause as Error).message}`, { cause })
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
