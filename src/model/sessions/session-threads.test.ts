/** The threads that a session of ONNX Runtime starts for itself. */
import { readFileSync } from 'node:fs'
import * as ort from 'onnxruntime-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SessionThreads } from './session-threads.js'

describe.runIf(process.platform === 'linux')('a session', () => {
  test.each([
    [1, 0],
    [2, 1],
    [4, 3],
  ])('of %i threads has %i beside the one that runs it', async (intraOpNumThreads, others) => {
    const head = readFileSync(new URL('../../../models/transport-test-1/head.onnx', import.meta.url))
    const open = async (): Promise<ort.InferenceSession> => {
      const session = await ort.InferenceSession.create(head, {
        executionProviders: ['cpu'],
        intraOpNumThreads,
      })
      onTestFinished(() => session.release())
      return session
    }
    // The first one of a process starts what all of them share.
    await open()
    const { threads } = await SessionThreads.of(open)
    expect(threads.count).toBe(others)
    threads.keepOff()
  })
})
