/**
 * Child processes, and the end of this one. Apart from the client and flock.ts, which run in other programs, only this file starts them, so that none inherits
 * what it does not need: LMDB opens its file without close-on-exec, and a child could write to the database through the descriptor; the
 * environment may hold secrets; and SIGUSR1 would open the debugger of a Node process to every user of the machine.
 */
import {
  execFile,
  spawn,
  type ChildProcess,
  type ExecFileException,
  type ExecFileOptionsWithBufferEncoding,
  type SpawnOptions,
} from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

export type { ChildProcess, ExecFileException, ExecFileOptionsWithBufferEncoding }

/** The flags of every Node process of this program; `bin/understudy` and the launcher of the bundle repeat them. */
export const nodeFlags: readonly string[] = ['--disable-sigusr1']

/** What the addon does for child processes; src/codec/native-addon.ts has the rest of it. */
interface ProcessAddon {
  /** Marks the descriptors of this process: a child gets only those that its start names. */
  closeOnExec?: () => void
  /** Ends this process without waiting for its threads. */
  endProcess?: (code: number) => void
}

let addon: ProcessAddon | undefined

/** Without the addon, which a machine without a compiler lacks, children keep what LMDB has opened. */
function loadAddon(): ProcessAddon {
  try {
    // dist/base and src/base are equally far from the root, where node-gyp builds.
    const path = fileURLToPath(new URL('../../build/Release/understudy_codec.node', import.meta.url))
    return createRequire(import.meta.url)(path) as ProcessAddon
  } catch {
    return {}
  }
}

/** Whether children get no descriptors but those that they need. */
export function areDescriptorsPrivate(): boolean {
  addon ??= loadAddon()
  return addon.closeOnExec !== undefined
}

/**
 * Ends this process, also while a thread reads from a volume that does not respond: `process.exit` alone waits for it, unless
 * the addon is there.
 */
export function endProcess(code: number): never {
  addon ??= loadAddon()
  const { endProcess: end } = addon
  // After all other listeners.
  if (end !== undefined) process.once('exit', () => end(code))
  process.exit(code)
}

/** Runs `spawn`. The child gets the descriptors of `stdio` and no others. */
export function startProcess(file: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  // A library may have opened a descriptor since the last start.
  if (areDescriptorsPrivate()) addon?.closeOnExec?.()
  return spawn(file, args, options)
}

/** Runs `execFile`. The child gets no further descriptors either. */
export function startProgram(
  file: string,
  args: readonly string[],
  options: ExecFileOptionsWithBufferEncoding,
  ended: (error: ExecFileException | null, stdout: Buffer, stderr: Buffer) => void,
): ChildProcess {
  if (areDescriptorsPrivate()) addon?.closeOnExec?.()
  return execFile(file, args, options, ended)
}

/** The environment of a child without the variables that hold, or may hold, secrets, and without the flags of this Node. */
export function publicEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !privateNames.test(name)))
}

/** Settings and tokens, the password of PostgreSQL, the headers of an OpenTelemetry exporter, the options of Node. */
const privateNames = /^(UNDERSTUDY_|PG|OTEL_|NODE_OPTIONS$)/
