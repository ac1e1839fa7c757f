/**
 * A child process that Node has started, on systems where that costs little, and where there is no addon.
 */
import type { ChildProcess } from 'node:child_process'
import type { Duplex, Readable } from 'node:stream'
import { messageDescriptor } from './descriptors.js'
import { endOf, type StartedProcess } from './started-process.js'

/** Right after its start. Its standard streams and `messageDescriptor` must be pipes. */
export function followChild(child: ChildProcess): StartedProcess {
  const { pid, stdio } = child
  const isStarted = pid !== undefined
  // A signal that cannot be sent is told by an error too; that the process is still there is known anyway.
  const refused = new Promise<Error>((resolve) => child.on('error', (error) => isStarted || resolve(error)))
  const messages = isStarted ? (stdio[messageDescriptor] as Duplex) : null
  // Pipes break because the process has ended, and that is heard of.
  for (const pipe of isStarted ? [child.stdin, ...child.stdio] : []) pipe?.on('error', () => undefined)
  return {
    pid,
    outputs: isStarted ? [stdio[1] as Readable, stdio[2] as Readable] : [],
    messages,
    kill: () => void child.kill('SIGKILL'),
    gone: Promise.race([
      new Promise<void>((resolve) => child.on('exit', () => resolve())),
      refused.then(() => undefined),
    ]),
    ended: Promise.race([
      // Not at its exit: what it said last may still be in the pipe.
      new Promise<string>((resolve) => child.on('close', (code, signal) => resolve(endOf(code, signal)))),
      refused.then(({ message }) => `cannot be started: ${message}`),
    ]),
  }
}
