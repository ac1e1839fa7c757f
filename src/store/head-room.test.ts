/**
 * Room behind the database: it grows with the commits, writes over nothing and keeps its bounds.
 */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HeadRoom } from './head-room.js'

let dataDir: string
let path: string
let bytesInUse: number

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'understudy-room-'))
  path = join(dataDir, 'file')
})

afterEach(() => rm(dataDir, { recursive: true }))

/** A file of ones with a head room behind it. */
async function openRoom(bytes: number, bytesMax = 1e12): Promise<HeadRoom> {
  bytesInUse = bytes
  await writeFile(path, Buffer.alloc(bytes, 1))
  return HeadRoom.open(path, { dataDir, bytesInUse: () => bytesInUse, bytesMax })
}

/** A commit that moves the end of what is in use, and all that follows of it. */
async function commit(room: HeadRoom, bytes: number): Promise<number> {
  bytesInUse += bytes
  room.committed()
  await room.idle()
  return (await stat(path)).size
}

describe('head room', () => {
  test('has place for eight commits like the last, and is left alone until less than six fit in', async () => {
    const room = await openRoom(10_000)
    expect(await commit(room, 1000)).toBe(11_000 + 8000)
    expect(await commit(room, 1000)).toBe(19_000)
    expect(await commit(room, 1000)).toBe(19_000)
    expect(await commit(room, 1000)).toBe(14_000 + 8000)
    await room.close()
  })

  test('is zeros behind what is there, which stays', async () => {
    const room = await openRoom(10_000)
    const size = await commit(room, 3_000_000)
    const bytes = await readFile(path)
    expect(bytes.length).toBe(size)
    expect(Buffer.alloc(10_000, 1).equals(bytes.subarray(0, 10_000))).toBe(true)
    expect(Buffer.alloc(size - 10_000).equals(bytes.subarray(10_000))).toBe(true)
    await room.close()
  })

  test('is not made for commits that take no new pages', async () => {
    const room = await openRoom(10_000)
    expect(await commit(room, 0)).toBe(10_000)
    await room.close()
  })

  test('does not pass the bound of the file, nor one of its own', async () => {
    const bounded = await openRoom(10_000, 15_000)
    expect(await commit(bounded, 2000)).toBe(15_000)
    await bounded.close()
    const large = await openRoom(10_000)
    expect(await commit(large, 20_000_000)).toBe(20_010_000 + 64 * 1024 * 1024)
    await large.close()
  })

  test('ends when it is closed, in the middle of growing too', async () => {
    const room = await openRoom(10_000)
    bytesInUse += 10_000_000
    room.committed()
    await room.close()
    const { size } = await stat(path)
    room.committed()
    await new Promise((resolve) => setImmediate(resolve))
    expect((await stat(path)).size).toBe(size)
  })
})
