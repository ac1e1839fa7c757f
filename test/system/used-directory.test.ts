/** Starts on a data directory that another server uses. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openLmdbStore } from '../../src/store/index.js'
import { executable } from '../harness/server.js'
import { scratchDir } from '../helpers/servers.js'

test('serve on a directory that is in use writes nothing into it', async () => {
  const dataDir = join(scratchDir(), 'in use')
  const store = await openLmdbStore({ dataDir })
  const before = readdirSync(dataDir)
  const args = ['serve', '--data-dir', dataDir, '--port', '0']
  const { status, stderr } = spawnSync(executable, args, { encoding: 'utf8' })
  expect(stderr).toContain(`the data directory ${dataDir} is in use by process ${process.pid}`)
  expect({ status, names: readdirSync(dataDir) }).toEqual({ status: 1, names: before })
  await store.close()
})
