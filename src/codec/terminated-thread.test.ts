/** A thread that is ended in the middle of native code ends alone. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { builtFile } from '../base/index.js'
import { candidate, cycleBody } from '../../test/helpers/bodies.js'

const codecFile = builtFile('codec/index.js').href

/** Decodes one body over and over, and notes how often. */
const decoding = `
  import { workerData } from 'node:worker_threads'
  import { bodyBufferBytes, codecName, decodeCycle } from ${JSON.stringify(codecFile)}
  const { text, count } = workerData
  if (codecName !== 'native') throw new Error('the addon is not built')
  const buffer = Buffer.alloc(bodyBufferBytes(Buffer.byteLength(text)))
  const body = buffer.subarray(0, buffer.write(text))
  for (;;) {
    decodeCycle(body)
    Atomics.add(count, 0, 1)
    Atomics.notify(count, 0)
  }`

const ending = `
  import { readFileSync } from 'node:fs'
  import { Worker } from 'node:worker_threads'
  const text = readFileSync(0, 'utf8')
  for (let round = 0; round < 10; round++) {
    const count = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(${JSON.stringify(decoding)}, { eval: true, workerData: { text, count } })
    await Atomics.waitAsync(count, 0, 0).value
    await worker.terminate()
  }
  console.log('still here')`

test('terminating a thread that decodes does not crash the process', () => {
  const candidates = Array.from({ length: 2000 }, (_, i) =>
    candidate('gallery', i + 1, { body_html: '본문'.repeat(200) }),
  )
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', ending], {
    input: JSON.stringify(cycleBody(0, { candidates })),
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    encoding: 'utf8',
  })
  expect({ stdout, stderr, status }).toEqual({ stdout: 'still here\n', stderr: '', status: 0 })
})
