/**
 * Loaded into a server whose clock a test sets (`--import`): replaces `Date` in this process by a clock whose time is a number in
 * a file, which the test sets. Timers are not changed.
 */
import { openSync, readSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

function follow(file: string): void {
  const descriptor = openSync(file, 'r')
  const bytes = Buffer.alloc(8)
  // A read of the page cache takes one or two microseconds, and returns what was written before the request was sent.
  const now = (): number => {
    readSync(descriptor, bytes, 0, bytes.length, 0)
    return bytes.readDoubleLE()
  }
  const RealDate = Date
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given: unknown[], newTarget) =>
      Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget) as Date,
    get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
  })
}

const file = process.env['SERVER_CLOCK_FILE']
// Not in worker threads, and not in child processes.
if (file !== undefined && isMainThread && process.argv[2] === 'serve') follow(file)
