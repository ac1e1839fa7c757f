/**
 * The native thread that makes zstd frames: what it refuses, and that it ends with its environment, whatever it does then.
 */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { constants, zstdDecompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { nativeCodecOrNull } from '../../test/helpers/codecs.js'
import { referenceCodec } from './codec.js'
import { frameBytesMax, frameCompressorsOf, type StartFrameCompressor } from './frame-compressor.js'
import type { NativeAddon } from './native-addon.js'

const start = nativeCodecOrNull?.startFrameCompressor ?? null
const ifNative = test.skipIf(start === null)
const compressor = () => (start as StartFrameCompressor)({ [constants.ZSTD_c_compressionLevel]: 1 })

const addonFile = fileURLToPath(new URL('../../build/Release/understudy_codec.node', import.meta.url))

/** Has 16 MB compressed, some milliseconds of work, and goes on with `then` while that is under way. */
const beginning = (then: string): string => `
  const { FrameCompressor } = require(${JSON.stringify(addonFile)})
  const compressor = new FrameCompressor(new Int32Array([100, 1]))
  const body = Buffer.alloc(16_000_000, 'of a cycle')
  const target = Buffer.allocUnsafeSlow(17_000_000)
  const begin = (ended) => compressor.begin(body, target, ended)
  ${then}`

const run = (code: string): { status: number | null; stdout: string } => {
  const { status, stdout } = spawnSync(process.execPath, ['-e', code], { encoding: 'utf8' })
  return { status, stdout }
}

test('the reference codec has none, nor has an addon whose Node exports no zstd', () => {
  expect(referenceCodec.startFrameCompressor).toBeNull()
  expect(frameCompressorsOf({ FrameCompressor: null } as NativeAddon)).toBeNull()
})

ifNative('a frame stands at the front of its target, and nothing behind it is touched', async () => {
  const body = Buffer.from('a body of a cycle')
  const target = Buffer.alloc(frameBytesMax(body.length) + 100, 7)
  const bytes = await compressor().compress(body, target.subarray(0, -100))
  expect(zstdDecompressSync(target.subarray(0, bytes))).toEqual(body)
  expect(target.subarray(-100)).toEqual(Buffer.alloc(100, 7))
})

ifNative('a target that is too short rejects, and the next body is compressed', async () => {
  const one = compressor()
  const body = Buffer.from('a body of a cycle')
  await expect(one.compress(body, Buffer.alloc(10))).rejects.toThrow('zstd: Destination buffer is too small')
  const target = Buffer.alloc(frameBytesMax(body.length))
  expect(zstdDecompressSync(target.subarray(0, await one.compress(body, target)))).toEqual(body)
})

ifNative('a second body at the same time is refused, and harms not the first', async () => {
  const one = compressor()
  const body = Buffer.alloc(1_000_000, 'of a cycle')
  const target = Buffer.alloc(frameBytesMax(body.length))
  const first = one.compress(body, target)
  await expect(one.compress(body, Buffer.alloc(2_000_000))).rejects.toThrow('another body')
  expect(zstdDecompressSync(target.subarray(0, await first)).equals(body)).toBe(true)
})

ifNative('parameters that zstd refuses, and what is no bytes, are errors of the caller', async () => {
  expect(() => (start as StartFrameCompressor)({ [constants.ZSTD_c_windowLog]: 99 })).toThrow('out of bound')
  const words = new Uint16Array(8) as unknown as Uint8Array
  await expect(compressor().compress(words, Buffer.alloc(99))).rejects.toThrow(TypeError)
})

ifNative('a process ends while a compressor is idle, and not before a frame under way is there', () => {
  expect(run(beginning(''))).toEqual({ status: 0, stdout: '' })
  const told = beginning('begin((error, bytes) => console.log(error, bytes > 0))')
  expect(run(told)).toEqual({ status: 0, stdout: 'undefined true\n' })
})

ifNative('a process that exits while a frame is under way exits cleanly', () => {
  expect(run(beginning("begin(() => console.log('told')); process.exit(3)"))).toEqual({
    status: 3,
    stdout: '',
  })
})

ifNative.each([
  [
    'is terminated',
    "require('node:worker_threads').parentPort.postMessage('begun'); setInterval(() => {}, 1000)",
  ],
  ['exits', 'process.exit()'],
  ['fails', "throw new Error('told to')"],
  ['ends', ''],
])('the process lives on when a thread that has a frame made %s', async (how, then) => {
  for (let round = 0; round < 5; round++) {
    const worker = new Worker(beginning(`begin(() => undefined); ${then}`), { eval: true })
    worker.on('error', () => undefined)
    const exited = new Promise((resolve) => worker.once('exit', resolve))
    if (how === 'is terminated') {
      await once(worker, 'message')
      await worker.terminate()
    }
    await exited
  }
  const body = Buffer.from('a body of a cycle')
  expect(await compressor().compress(body, Buffer.alloc(frameBytesMax(body.length)))).toBeGreaterThan(0)
})
