/** Staged rows become files part by part, and a part that cannot be written ends the export. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Staging } from './staging.js'

async function opened() {
  const directory = await mkdtemp(join(tmpdir(), 'understudy-staging-'))
  const staging = await Staging.open({ directory, features: [], tables: ['cycles'] })
  onTestFinished(async () => {
    staging.close()
    await rm(directory, { recursive: true, force: true })
  })
  const addCycle = (position: number): void => {
    staging.addPosition({
      position,
      cycleId: `20261124T000${position}`,
      cycleAtMs: 0,
      receivedAt: '1970-01-01T00:00:00Z',
      modelVersion: 'm1',
      weightsVersion: 'initial',
    })
    staging.add('cycles', { position })
  }
  return { staging, addCycle, folder: join(directory, 'cycles') }
}

test('each flush writes one part, and an empty one none', async () => {
  const { staging, addCycle, folder } = await opened()
  addCycle(1)
  await staging.flush()
  addCycle(2)
  await staging.flush()
  await staging.writeAll()
  expect(readdirSync(folder)).toEqual(['day=1970-01-01'])
  expect(readdirSync(join(folder, 'day=1970-01-01')).sort()).toEqual(['0-0.parquet', '1-0.parquet'])
  expect(staging.rowCounts).toMatchObject({ cycles: 2, scores: 0 })
})

test('a part that cannot be written fails the next flush, although the disk is right by then', async () => {
  const { staging, addCycle, folder } = await opened()
  // A file stands where the directory of the table belongs.
  writeFileSync(folder, '')
  addCycle(1)
  await staging.flush()
  addCycle(2)
  await expect(staging.flush()).rejects.toThrow(/cycles/)
  rmSync(folder)
  await expect(staging.writeAll()).rejects.toThrow(/cycles/)
  expect(existsSync(folder)).toBe(false)
})
