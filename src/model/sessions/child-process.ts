/**
 * Starts a child process and follows it to its end. Its working directory is empty and its own, so that no graph can
 * name a file of this machine by a relative path; ONNX Runtime refuses the other paths.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex, Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'

/** Nothing is ever written here: the child's end of it ends when the owner does, however that happens. */
export const lifelineDescriptor = 0
/** Frames in both directions. */
export const messageDescriptor = 3

/**
 * ONNX Runtime sends telemetry unless this is set: it looks up a host of Microsoft's and keeps a database in the home
 * directory (1.30, core/platform/posix/telemetry.cc).
 */
const environment = { ORT_DISABLE_TELEMETRY: '1' }

/** Nothing strips types in a child: from source, too, it runs the built file. */
const childFile = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../../dist/model/child.js' : '../child.js', import.meta.url),
)

export interface StartedChild {
  /** undefined: it could not be started; `ended` says why, and there are no streams. */
  readonly pid: number | undefined
  /** Standard output and standard error. */
  readonly outputs: readonly Readable[]
  readonly messages: Duplex | null
  /** Sends SIGKILL. */
  kill(): void
  /** Resolves when the process is gone. Its last messages may still have to be read. */
  readonly gone: Promise<void>
  /** Resolves when the process is gone and all of its streams were read: how it ended, such as `exited with code 7`. */
  readonly ended: Promise<string>
}

/** Throws the error of the system when it cannot, or reports it by the end of the process. */
export function startChild(): StartedChild {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-model-'))
  try {
    const child = spawn(process.execPath, [childFile], {
      cwd: directory,
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    })
    const started = followChild(child)
    void started.gone.then(() => removeDirectory(directory))
    // Also at once: this process may exit before it sees the end of the child.
    const kill = (): void => {
      started.kill()
      removeDirectory(directory)
    }
    return { ...started, kill }
  } catch (error) {
    removeDirectory(directory)
    throw error
  }
}

/** To be called right after the start. The standard streams and `messageDescriptor` must be pipes. */
export function followChild(child: ChildProcess): StartedChild {
  const { pid, stdio } = child
  const isStarted = pid !== undefined
  // A signal that cannot be sent is an error event too; the process is still there then.
  const refused = new Promise<Error>((resolve) => child.on('error', (error) => isStarted || resolve(error)))
  // Pipes break because the process has ended, and `ended` reports that.
  for (const pipe of isStarted ? [child.stdin, ...stdio] : []) pipe?.on('error', () => undefined)
  return {
    pid,
    outputs: isStarted ? [stdio[1] as Readable, stdio[2] as Readable] : [],
    messages: isStarted ? (stdio[messageDescriptor] as Duplex) : null,
    kill: () => void child.kill('SIGKILL'),
    gone: Promise.race([
      new Promise<void>((resolve) => child.on('exit', () => resolve())),
      refused.then(() => undefined),
    ]),
    ended: Promise.race([
      // Not at its exit: its last message may still be in the pipe.
      new Promise<string>((resolve) =>
        child.on('close', (code, signal) => resolve(describeEnd(code, signal))),
      ),
      refused.then(({ message }) => `cannot be started: ${message}`),
    ]),
  }
}

function describeEnd(code: number | null, signal: string | null): string {
  return signal === null ? `exited with code ${code}` : `was ended by ${signal}`
}

/** A child removes it too, when it outlives its owner: see child.ts. */
function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true })
}
