/**
 * Images that are valid files of another format too: the other contents are discarded.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { openLmdbStore } from '../../src/store/index.js'
import { started } from '../helpers/servers.js'
import { polyglots } from './polyglots.js'

test('only the pixels of a polyglot image reach the disk and the log, and no response contains it', async () => {
  const server = await started({ UNDERSTUDY_LOG_LEVEL: 'trace' })
  const all = await polyglots()
  for (const [index, { name, bytes, status }] of all.entries()) {
    const path = `/v1/images/polyglot/${index + 1}/01`
    const headers = { 'Content-Type': 'image/jpeg' }
    const reply = await server.call({ method: 'PUT', path, body: bytes, headers })
    expect(reply.status, `${name}: ${reply.text}`).toBe(status)
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(reply.text).not.toContain('payload')
    for (const method of ['GET', 'HEAD', 'POST'])
      expect((await server.call({ method, path })).status, `${method} of an image`).toBe(405)
  }
  expect(await server.kill('SIGTERM')).toBe(0)
  expect(server.log).not.toContain('payload')
  for (const file of readdirSync(server.dataDir))
    expect(readFileSync(join(server.dataDir, file)).includes('payload'), file).toBe(false)

  const store = await openLmdbStore({ dataDir: server.dataDir })
  try {
    for (const [index, { name, status }] of all.entries()) {
      const stored = store.findImage({ gallId: 'polyglot', postNo: index + 1, position: 1 })
      expect(stored !== undefined, name).toBe(status === 201)
      if (stored === undefined) continue
      const { normalised } = stored
      const copy = await sharp(normalised).metadata()
      expect([copy.format, copy.width, copy.height], name).toEqual(['jpeg', 64, 48])
      // One image from its first byte to its last.
      expect([...normalised.subarray(0, 3)]).toEqual([0xff, 0xd8, 0xff])
      expect(Buffer.from(normalised).indexOf(Buffer.from([0xff, 0xd9]))).toBe(normalised.length - 2)
    }
  } finally {
    await store.close()
  }
})
