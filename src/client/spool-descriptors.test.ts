/** A process that has no file descriptor left keeps its cycles: the fault is not that of a file. */
import { mkdtempSync, rmSync } from 'node:fs'
import type * as promises from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cycleBody } from '../../test/helpers/bodies.js'
import { Spool } from './spool.js'

const { read } = vi.hoisted(() => ({ read: { failure: null as Error | null } }))

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof promises>()
  const readFile = (path: string): Promise<Buffer> =>
    read.failure === null ? original.readFile(path) : Promise.reject(read.failure)
  return { ...original, readFile }
})

test.each(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN'])(
  'a cycle that cannot be read for %s stays, and is sent later',
  async (code) => {
    const directory = mkdtempSync(join(tmpdir(), 'understudy-spool-'))
    const sent: string[] = []
    const warnings: string[] = []
    const spool = await Spool.open({
      client: {
        sendCycle: (json) => {
          sent.push(json)
          return Promise.resolve({} as never)
        },
      },
      directory,
      onResponse: () => undefined,
      onWarning: (message) => void warnings.push(message),
    })
    onTestFinished(async () => {
      await spool.close()
      rmSync(directory, { recursive: true })
    })
    await spool.add(cycleBody(0))
    read.failure = Object.assign(new Error(code), { code })
    await expect(spool.deliver()).rejects.toThrow(code)
    read.failure = null
    expect([await spool.cycleIds(), warnings]).toEqual([[cycleBody(0).cycle_id], []])
    await spool.deliver()
    expect(sent).toEqual([JSON.stringify(cycleBody(0))])
  },
)
