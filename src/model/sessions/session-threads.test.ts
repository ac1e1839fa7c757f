/** The threads that a session of ONNX Runtime starts for itself. */
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import * as ort from 'onnxruntime-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SessionThreads } from './session-threads.js'

describe.runIf(process.platform === 'linux' && availableParallelism() > 1)('a session', () => {
  test.each([
    [1, 0],
    [2, 1],
    [4, 3],
  ])(
    'of %i threads keeps %i off the processor of the one that runs it',
    async (intraOpNumThreads, others) => {
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
      const before = confinedCount()
      threads.keepOff()
      expect(confinedCount() - before).toBe(others)
    },
  )
})

/** Threads of this process that may not run on all processors of the main one. */
function confinedCount(): number {
  const allowed = (task: string): string | undefined =>
    /^Cpus_allowed:\s*(.*)$/m.exec(readFileSync(`${task}/status`, 'utf8'))?.[1]
  const all = allowed('/proc/self')
  return readdirSync('/proc/self/task').filter((task) => allowed(`/proc/self/task/${task}`) !== all).length
}
