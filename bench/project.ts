/**
 * Where things are, how child processes run, and what goes into every report.
 */
import { execFileSync, fork, type ChildProcess } from 'node:child_process'
import { createServer } from 'node:net'
import { cpus, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const projectDir = dirname(dirname(fileURLToPath(import.meta.url)))

/** A TypeScript file of this folder as a process of its own, with a channel for messages. */
export function forkScript(file: string, nodeFlags: readonly string[] = []): ChildProcess {
  return fork(join(projectDir, 'bench', file), {
    execArgv: ['--import', join(projectDir, 'bench', 'typescript.mjs'), ...nodeFlags],
  })
}

/** A module of the built program, typed by its source: sources with validators run only when built. */
export function builtModule<Module>(path: string): Promise<Module> {
  return import(new URL(`../dist/${path}`, import.meta.url).href) as Promise<Module>
}

/** What a figure is worth nothing without. */
export interface Circumstances {
  readonly commit: string
  readonly machine: string
  readonly node: string
  readonly startedAt: string
}

export function circumstances(): Circumstances {
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

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
