/** The figures of the disk: shared by all callers, and a disk that hangs delays none of them for long. */
import { expect, onTestFinished, test } from 'vitest'
import { diskBytesFreeMin } from '../store/index.js'
import { DiskSpace } from './disk-space.js'

const figures = { freeBytes: 5e9, fileBytes: 1e6 }

test('a disk that hangs has no figures, and one read waits for it, however many callers there are', async () => {
  let reads = 0
  let recover: (read: typeof figures) => void = () => undefined
  const disk = new DiskSpace('', () => {
    reads++
    return new Promise((resolve) => (recover = resolve))
  })
  const none = { freeBytes: null, fileBytes: null }
  expect(await Promise.all([disk.read(), disk.read(), disk.read()])).toEqual([none, none, none])
  // Until the next read, no caller waits.
  expect(await disk.read()).toEqual(none)
  expect(reads).toBe(1)
  recover(figures)
})

test('the figures are those of the data directory; what cannot be read is null', async () => {
  expect(await new DiskSpace('/proc/self').read()).toMatchObject({ fileBytes: null })
  expect((await new DiskSpace('/proc/self').read()).freeBytes).not.toBeNull()
  expect(await new DiskSpace('/nowhere').read()).toEqual({ freeBytes: null, fileBytes: null })
})

test('there is a problem while the disk is full or does not respond, from the first read on', async () => {
  const problemAt = async (freeBytes: number | null) => {
    const disk = new DiskSpace('', () => Promise.resolve({ freeBytes, fileBytes: 0 }))
    onTestFinished(() => disk.stop())
    await disk.watch()
    return disk.problem
  }
  expect(await problemAt(diskBytesFreeMin)).toBeNull()
  expect(await problemAt(diskBytesFreeMin - 2 ** 20)).toEqual({ code: 'disk_free', free_mib: 127 })
  expect(await problemAt(null)).toEqual({ code: 'disk_silent' })
})
