/**
 * Replacements for Node's asynchronous functions that a cycle uses: `setImmediate`, pauses, and zlib in the thread pool.
 * During a run they are events of its scheduler, so that neither real time nor a real thread affects the order. A
 * compression reads its input when it ends, the latest moment at which a thread could.
 *
 * Import this before the service, which binds these functions when it is loaded.
 */
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import zlib from 'node:zlib'
import type { Scheduler } from './scheduler.js'

interface Process {
  readonly scheduler: Scheduler
  /** Incarnation of the service that runs now. */
  readonly incarnation: () => number
  /** Called for each compression. */
  readonly compressionFails: () => boolean
}

export class CompressionFailed extends Error {}

let current: Process | null = null

/** Runs Node's asynchronous functions as events of a scheduler, until called with null. */
export function virtualise(process: Process | null): void {
  current = process
}

const real = { setImmediate: globalThis.setImmediate, pause: timers.setTimeout, ...zlib }

type Callback = (error: Error | null, result?: Uint8Array) => void

/** A function of the thread pool, replaced by its synchronous variant in an event. */
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
    const { scheduler, incarnation, compressionFails } = current
    const fails = name === 'zstd compress' && compressionFails()
    const delaySteps = scheduler.random.chance(0.2) ? scheduler.random.below(12) : 0
    scheduler.add({ label: fails ? `${name} fails` : name, incarnation: incarnation(), delaySteps }, () => {
      if (fails) {
        callback(new CompressionFailed('simulated failure'))
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

/** A pause takes a random number of steps, whatever its duration. */
function virtualPause(ms: number, value?: unknown, options?: object): Promise<unknown> {
  if (current === null) return real.pause(ms, value, options)
  const { scheduler, incarnation } = current
  return new Promise((resolve) => {
    scheduler.add(
      { label: 'pause', incarnation: incarnation(), delaySteps: scheduler.random.below(20) },
      () => resolve(value),
    )
  })
}

function virtualImmediate<Args extends unknown[]>(run: (...args: Args) => void, ...args: Args): unknown {
  if (current === null) return real.setImmediate(run, ...args)
  const { scheduler, incarnation } = current
  scheduler.add({ label: 'immediate', incarnation: incarnation(), queue: 'immediate' }, () => run(...args))
  return undefined
}

Object.assign(globalThis, { setImmediate: virtualImmediate })
