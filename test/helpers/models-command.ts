/**
 * Runs `understudy models` as a process, on a directory of models that is new for each test.
 */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach } from 'vitest'
import { projectDir } from './project.js'
import { scratchDir } from './servers.js'

export const understudy = join(projectDir, 'bin', 'understudy')
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('UNDERSTUDY_')),
)

/** A directory of models with `v1`, a copy of the transport test. */
export let modelsDir: string

beforeEach(() => {
  modelsDir = join(scratchDir(), 'models')
  mkdirSync(modelsDir)
  addVersion('v1')
})

export function addVersion(version: string, shipped = 'transport-test-1'): void {
  cpSync(join(projectDir, 'models', shipped), join(modelsDir, version), { recursive: true })
  changeManifest(version, { model_version: version })
}

export function changeManifest(version: string, members: object): void {
  const file = join(modelsDir, version, 'manifest.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as object
  writeFileSync(file, JSON.stringify({ ...manifest, ...members }))
}

export function models(...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(understudy, ['models', ...args], { encoding: 'utf8', env: modelsEnvironment() })
}

export function modelsEnvironment(): NodeJS.ProcessEnv {
  return { ...environment, UNDERSTUDY_MODELS_DIR: modelsDir, UNDERSTUDY_DATA_DIR: join(modelsDir, '../none') }
}

export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}
