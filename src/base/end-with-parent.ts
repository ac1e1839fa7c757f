/**
 * Loaded by `--import` into a process that must not outlive the one that started it. Its standard input is a pipe that the
 * parent holds open and never writes to: the system closes it when the parent ends, however it ends. The process then
 * receives SIGTERM from itself, and so ends in order.
 */
import { Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'

/** Arguments for Node, before the program. */
export const endWithParent = ['--import', import.meta.url]

// Worker threads load the module too; their standard input is another one.
if (isMainThread && process.execArgv.includes(import.meta.url)) {
  const end = (): void => {
    process.kill(process.pid, 'SIGTERM')
  }
  process.stdin.on('error', end).on('end', end).resume()
  // Waiting for the parent does not keep the process running.
  if (process.stdin instanceof Socket) process.stdin.unref()
}
