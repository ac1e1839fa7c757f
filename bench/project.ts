/**
 * Paths of the project, child processes, and the environment of a measurement.
 */
import { execFileSync, fork, type ChildProcess } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { projectDir } from '../test/helpers/project.js'

export { projectDir }

/** Runs a TypeScript file of this folder as a child process with a message channel. */
export function forkScript(
  file: string,
  nodeFlags: readonly string[] = [],
  args: readonly string[] = [],
): ChildProcess {
  return fork(join(projectDir, 'bench', file), args, {
    execArgv: ['--import', join(projectDir, 'bench', 'typescript.mjs'), ...nodeFlags],
  })
}

/** Imports a module of the built program: sources with typia validators run only when built. */
export function builtModule<Module>(path: string): Promise<Module> {
  return import(new URL(`../dist/${path}`, import.meta.url).href) as Promise<Module>
}

/** The conditions of a measurement, without which its figures mean nothing. */
export interface Conditions {
  readonly commit: string
  readonly machine: string
  readonly node: string
  readonly startedAt: string
}

export function currentConditions(): Conditions {
  const processors = cpus()
  const memoryGib = Math.round(totalmem() / 2 ** 30)
  return {
    commit: commitName(),
    machine: `${process.platform} ${process.arch}, ${processors.length} × ${processors[0]?.model ?? 'unknown'}, ${memoryGib} GiB`,
    node: process.version,
    startedAt: new Date().toISOString(),
  }
}

function commitName(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=12'], {
      cwd: projectDir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}
