/** Errors of the system that no file is the cause of: a process without descriptors, a disk that cannot be flushed. */
import { mkdtempSync, rmSync } from 'node:fs'
import type * as promises from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { cycleBody } from '../../test/helpers/bodies.js'
import { Spool } from './spool.js'

const { read, flush } = vi.hoisted(() => ({ read: { failure: null as Error | null }, flush: vi.fn() }))

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof promises>()
  const readFile = (path: string): Promise<Buffer> =>
    read.failure === null ? original.readFile(path) : Promise.reject(read.failure)
  return { ...original, readFile }
})

vi.mock('../base/flush-directory.js', () => ({ flushDirectory: flush }))

const sent: string[] = []
const warnings: string[] = []
let spool: Spool
beforeEach(async () => {
  sent.length = 0
  warnings.length = 0
  flush.mockReset()
  const directory = mkdtempSync(join(tmpdir(), 'understudy-spool-'))
  const sendCycle = (json: string): Promise<never> => {
    sent.push(json)
    return Promise.resolve({} as never)
  }
  spool = await Spool.open({
    client: { sendCycle },
    directory,
    onResponse: () => undefined,
    onWarning: (message) => void warnings.push(message),
  })
  onTestFinished(async () => {
    await spool.close()
    rmSync(directory, { recursive: true })
  })
})

test.each(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])(
  'a cycle that cannot be read for %s stays, and is sent later',
  async (code) => {
    await spool.add(cycleBody(0))
    read.failure = Object.assign(new Error(code), { code })
    await expect(spool.deliver()).rejects.toThrow(code)
    read.failure = null
    expect([await spool.cycleIds(), warnings]).toEqual([[cycleBody(0).cycle_id], []])
    await spool.deliver()
    expect(sent).toEqual([JSON.stringify(cycleBody(0))])
  },
)

test('a cycle whose name could not be flushed is flushed when it is added again', async () => {
  flush.mockReset().mockImplementationOnce(() => {
    throw new Error('EIO')
  })
  await expect(spool.add(cycleBody(0))).rejects.toThrow('EIO')
  await spool.add(cycleBody(0))
  expect(flush).toHaveBeenCalledTimes(2)
})
