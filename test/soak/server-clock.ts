/**
 * Loaded into the server of a soak (`--import`): its clock is a number in a file, which the client of the soak moves from
 * cycle to cycle. The product has no such clock: what is replaced is the `Date` of this one process. Timers go on as ever.
 */
import { openSync, readSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

function follow(file: string): void {
  const descriptor = openSync(file, 'r')
  const bytes = Buffer.alloc(8)
  // One read of the page cache, a microsecond or two: what was written before a request is sent is seen by it.
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

const file = process.env['SOAK_CLOCK_FILE']
// Not in its threads, nor in the processes that it starts.
if (file !== undefined && isMainThread && process.argv[2] === 'serve') follow(file)
