/**
 * What of Node a cycle waits for beside promises: `setImmediate`, pauses, and the threads that compress.
 * While a run is on, all are events of its scheduler, so that no real time and no real thread decides anything. A
 * compression reads its input when it ends, which is the latest moment at which a thread may.
 *
 * To be imported before the service: it takes its copies of these functions when it is loaded.
 */
import { EventEmitter } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import zlib, { type ZstdOptions } from 'node:zlib'
import type { FrameCompressor, StartFrameCompressor } from '../../src/codec/index.js'
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

/** What of a stream of frames the service uses: what is written, compressed at the flush, as an event. */
class VirtualZstdCompress extends EventEmitter {
  readonly #options: ZstdOptions
  #written: Uint8Array[] = []

  constructor(options: ZstdOptions) {
    super()
    this.#options = options
  }

  write(bytes: Uint8Array): void {
    this.#written.push(bytes)
  }

  flush(_kind: number, done: () => void): void {
    const written = this.#written
    this.#written = []
    const compress = pooled('zstd compress', refuse, () =>
      real.zstdCompressSync(Buffer.concat(written), this.#options),
    )
    compress(new Uint8Array(0), undefined, (error, frame) => {
      if (error !== null) this.emit('error', error)
      else {
        this.emit('data', frame)
        done()
      }
    })
  }

  destroy(): void {
    this.#written = []
  }
}

/** One of the codec's own threads that compress. Until a frame stands in its target, something else does. */
export const startVirtualCompressor: StartFrameCompressor = (parameters) => {
  let isBusy = false
  const compress: FrameCompressor['compress'] = (body, target) =>
    new Promise((resolve, reject) => {
      if (isBusy) throw new Error('another body is compressed')
      isBusy = true
      target.fill(0xa5)
      const pool = pooled('zstd compress', refuse, () =>
        real.zstdCompressSync(body, { params: { ...parameters } }),
      )
      pool(body, undefined, (error, frame) => {
        isBusy = false
        if (error !== null || frame === undefined) {
          reject(error ?? new Error('no frame'))
          return
        }
        target.set(frame)
        resolve(frame.length)
      })
    })
  return { compress }
}

function refuse(): never {
  throw new Error('a service of a run that has ended compresses')
}

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
  // With `new`, what a function returns is the object.
  ZstdCompress: function (options: ZstdOptions): EventEmitter {
    return current === null ? new real.ZstdCompress(options) : new VirtualZstdCompress(options)
  },
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
