/**
 * Writes a models directory with two versions of the same graphs, for the scenario `swap`.
 */
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectDir } from './project.js'

const shipped = 'transport-test-1'
/** The graphs are the same; only the label differs. */
export const modelVersions = [shipped, 'transport-test-2'] as const

/** Writes both packages below `parentDir` and activates the first. Returns the directory. */
export function writeTwoModels(parentDir: string): string {
  const modelsDir = join(parentDir, 'models')
  mkdirSync(modelsDir)
  for (const version of modelVersions) {
    const packageDir = join(modelsDir, version)
    cpSync(join(projectDir, 'models', shipped), packageDir, { recursive: true })
    const file = join(packageDir, 'manifest.json')
    const manifest = JSON.parse(readFileSync(file, 'utf8')) as object
    writeFileSync(file, JSON.stringify({ ...manifest, model_version: version }))
  }
  setRole(modelsDir, 'ACTIVE', modelVersions[0])
  return modelsDir
}

/** Writes a version to `ACTIVE` or `SHADOW` atomically, as a deployment does. Null removes the file. */
export function setRole(modelsDir: string, role: 'ACTIVE' | 'SHADOW', version: string | null): void {
  const file = join(modelsDir, role)
  if (version === null) {
    rmSync(file, { force: true })
    return
  }
  writeFileSync(`${file}.new`, `${version}\n`)
  renameSync(`${file}.new`, file)
}
