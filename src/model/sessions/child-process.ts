/**
 * Starts a child process and reports its exit. Its working directory is empty and its own, so that no graph can
 * name a file of this machine by a relative path; ONNX Runtime refuses the other paths. The child removes it before it serves.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import {
  builtFile,
  inBackground,
  nodeFlags,
  publicEnvironment,
  startProcess,
  type ChildProcess,
} from '../../base/index.js'
import { PayloadFile } from './messages.js'

/** Nothing is ever written here: the child's end of it ends when the parent does, however that happens. */
export const lifelineDescriptor = 0
/** A socket for the headers of messages, in both directions. */
export const headerDescriptor = 3
/** The file of their payloads. */
export const payloadDescriptor = 4

/**
 * ONNX Runtime sends telemetry unless this is set: it looks up a host of Microsoft's and keeps a database in the home
 * directory (1.30, core/platform/posix/telemetry.cc).
 */
const environment = { ORT_DISABLE_TELEMETRY: '1' }

export interface StartedChild {
  readonly pid: number
  /** Standard output and standard error. */
  readonly outputs: readonly Readable[]
  readonly headers: Duplex
  readonly payloads: PayloadFile
  /** Sends SIGKILL. */
  kill(): void
  /** Resolves when the process has ended. Its last messages may still be unread. */
  readonly exited: Promise<void>
  /** Resolves, when the process has ended and its streams were read, to how it ended, such as `exited with code 7`. */
  readonly ended: Promise<string>
}

/** Rejects with the error of the system when it cannot. */
export async function startChild(): Promise<StartedChild> {
  const cwd = mkdtempSync(join(tmpdir(), 'understudy-model-'))
  let payloads: PayloadFile | undefined
  try {
    payloads = new PayloadFile()
    const child = spawnModelProcess(cwd, payloads)
    await once(child, 'spawn')
    return followChild(child, cwd, payloads)
  } catch (error) {
    payloads?.close()
    removeDirectory(cwd)
    throw error
  }
}

function spawnModelProcess(cwd: string, payloads: PayloadFile): ChildProcess {
  return startProcess(process.execPath, [...nodeFlags, fileURLToPath(builtFile('model/sessions/child.js'))], {
    cwd,
    // What an operator loads into the service by NODE_OPTIONS, such as an OpenTelemetry SDK, must not run in each process.
    env: { ...publicEnvironment(process.env), ...environment },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', payloads.descriptor],
  })
}

function followChild(child: ChildProcess, directory: string, payloads: PayloadFile): StartedChild {
  const { stdio } = child
  // A signal cannot be sent: the process is still there then.
  child.on('error', () => undefined)
  // Pipes break because the process has ended, and `ended` reports that.
  for (const pipe of stdio) pipe?.on('error', () => undefined)
  const exited = new Promise<void>((resolve) => child.on('exit', () => resolve()))
  inBackground(
    'model process',
    exited.then(() => removeDirectory(directory)),
  )
  // Not at its exit: its last message may still be in the pipe.
  const ended = new Promise<string>((resolve) =>
    child.on('close', (code, signal) => resolve(describeEnd(code, signal))),
  )
  inBackground(
    'model process',
    ended.then(() => payloads.close()),
  )
  const kill = (): void => {
    child.kill('SIGKILL')
    // Also now: this process may exit before it detects the end of the child.
    inBackground('model process', () => removeDirectory(directory))
  }
  return {
    pid: child.pid!,
    outputs: [stdio[1]!, stdio[2]!],
    headers: stdio[headerDescriptor] as Duplex,
    payloads,
    kill,
    exited,
    ended,
  }
}

function describeEnd(code: number | null, signal: string | null): string {
  return signal === null ? `exited with code ${code}` : `was ended by ${signal}`
}

/** The child removes it too, before it serves or when its parent has ended: see child.ts. */
function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true })
}
