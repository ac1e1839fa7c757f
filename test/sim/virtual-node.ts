/**
 * What a cycle waits for besides promises: `setImmediate`, pauses, and compression in the thread pool.
 * During a run all of them are events of its scheduler, so that neither real time nor a real thread decides anything. A
 * compression reads its input when it ends, which is the latest moment at which a thread may.
 *
 * To be imported before the service: it takes its copies of these functions when it is loaded.
 */
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import zlib from 'node:zlib'
import type { Scheduler } from './scheduler.js'

interface Process {
  readonly scheduler: Scheduler
  /** The life of the service that runs now. */
  readonly life: () => number
  /** Asked for each compression. */
  readonly compressionFails: () => boolean
}

export class CompressionFailed extends Error {}

let current: Process | null = null

/** From now on, until it is given null, Node's own waiting is this scheduler's. */
export function virtualise(process: Process | null): void {
  current = process
}

const real = { setImmediate: globalThis.setImmediate, pause: timers.setTimeout, ...zlib }

type Callback = (error: Error | null, result?: Uint8Array) => void

/** A function of the thread pool: its synchronous twin, run as an event. */
function pooled<Options>(
  name: string,
  asynchronous: (bytes: Uint8Array, options: Options, callback: Callback) => void,
  synchronous: (bytes: Uint8Array, options: Options) => Uint8Array,
): (bytes: Uint8Array, options: Options, callback: Callback) => void {
  return (bytes, options, callback) => {
    if (current === null) {
      asynchronous(bytes, options, callback)
      return
    }
    const { scheduler, life, compressionFails } = current
    const fails = name === 'zstd compress' && compressionFails()
    const delaySteps = scheduler.random.chance(0.2) ? scheduler.random.below(12) : 0
    scheduler.add({ label: fails ? `${name} fails` : name, life: life(), delaySteps }, () => {
      if (fails) {
        callback(new CompressionFailed('told to fail'))
        return
      }
      let result: Uint8Array
      try {
        result = synchronous(bytes, options)
      } catch (error) {
        callback(error as Error)
        return
      }
      callback(null, result)
    })
  }
}

Object.assign(zlib, {
  zstdCompress: pooled('zstd compress', real.zstdCompress, real.zstdCompressSync),
  zstdDecompress: pooled('zstd decompress', real.zstdDecompress, real.zstdDecompressSync),
  gunzip: pooled('gunzip', real.gunzip, real.gunzipSync),
})
Object.assign(timers, { setTimeout: virtualPause })
syncBuiltinESMExports()

/** However long a pause is: other things happen meanwhile. */
function virtualPause(ms: number, value?: unknown, options?: object): Promise<unknown> {
  if (current === null) return real.pause(ms, value, options)
  const { scheduler, life } = current
  return new Promise((resolve) => {
    scheduler.add({ label: 'pause', life: life(), delaySteps: scheduler.random.below(20) }, () =>
      resolve(value),
    )
  })
}

function virtualImmediate<Args extends unknown[]>(run: (...args: Args) => void, ...args: Args): unknown {
  if (current === null) return real.setImmediate(run, ...args)
  const { scheduler, life } = current
  scheduler.add({ label: 'immediate', life: life(), queue: 'immediate' }, () => run(...args))
  return undefined
}

Object.assign(globalThis, { setImmediate: virtualImmediate })
