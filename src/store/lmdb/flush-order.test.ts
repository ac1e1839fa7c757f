/**
 * Decision 23: no read may show a record that is written and not yet flushed. Flushing is made slow in a process of its
 * own, which reads all the while.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))
const compiler = process.env['CXX'] ?? 'g++'
const impossible = process.platform !== 'linux' || spawnSync(compiler, ['--version']).error !== undefined

/** Reads in every turn of the event loop while a cycle is written; prints what was seen before the promise resolved. */
const program = `
  const { openLmdbStore } = await import(process.argv[1] + '/store/index.js')
  const { cycleSample } = await import(process.argv[1] + '/../test/helpers/store-samples.ts')
  const store = await openLmdbStore({ dataDir: process.argv[2] })
  await store.appendCycle(cycleSample(1))
  let resolved = false, reads = 0, early = 0
  const record = cycleSample(2)
  const written = store.appendCycle(record).then(() => (resolved = true))
  while (!resolved) {
    await new Promise((resolve) => setImmediate(resolve))
    if (resolved) break
    reads++
    if (store.findCycle(record.cycleId) !== undefined || store.readResponse(record.cycleId) !== undefined) early++
  }
  await written
  console.log(JSON.stringify({ reads, early, after: store.findCycle(record.cycleId) !== undefined }))
  await store.close()
`

test.skipIf(impossible)(
  'no read shows a cycle before it is flushed (skipped without g++ or off Linux)',
  () => {
    const dir = mkdtempSync(join(tmpdir(), 'understudy-flush-'))
    try {
      const library = join(dir, 'slow-sync.so')
      const source = join(root, 'test/native/slow_sync.cc')
      execFileSync(compiler, ['-std=c++17', '-shared', '-fPIC', '-o', library, source, '-ldl'])
      const output = execFileSync(
        process.execPath,
        ['--input-type=module', '-e', program, join(root, 'dist'), join(dir, 'data')],
        { env: { ...process.env, LD_PRELOAD: library }, encoding: 'utf8' },
      )
      const seen = JSON.parse(output) as { reads: number; early: number; after: boolean }
      expect(seen.after).toBe(true)
      // The write was slow enough to be watched.
      expect(seen.reads).toBeGreaterThan(100)
      // A record that shows before its flush shows for all of the flush. One that shows after it may be seen until the
      // promise settles: a turn or two of the event loop, or more while the reporting thread has no core.
      expect(seen.early).toBeLessThan(seen.reads / 2)
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  },
)
