/** Which settings change while the server runs. */
import { expect, test, vi } from 'vitest'
import { ApiKeys } from './api-keys.js'
import { BodyMemory } from './body.js'
import { changeOf, reload, type ReloadParts } from './reload.js'
import { ImageSemaphore } from '../images/index.js'
import type { Settings } from '../settings/index.js'

// The settings that the tests below use.
const settings = Object.freeze({
  host: '127.0.0.1',
  port: 8080,
  apiKeys: ['first-key'],
  executionProviders: ['cpu'],
  logLevel: 'info',
} satisfies Partial<Settings>) as unknown as Settings

test('the same settings, read again, change nothing', () => {
  const { next, applied, deferred } = changeOf(settings, JSON.parse(JSON.stringify(settings)) as Settings)
  expect([applied, deferred]).toEqual([[], []])
  expect(next).toEqual(settings)
  expect(Object.isFrozen(next)).toBe(true)
})

test('changes are applied, except those that need a restart', () => {
  const requested: Settings = {
    ...settings,
    apiKeys: ['first-key', 'second-key'],
    logLevel: 'debug',
    port: 9090,
    executionProviders: ['cuda', 'cpu'],
    intraOpThreads: 3,
  }
  const { next, applied, deferred } = changeOf(settings, requested)
  expect(new Set(applied)).toEqual(new Set(['apiKeys', 'logLevel']))
  expect(new Set(deferred)).toEqual(new Set(['port', 'executionProviders', 'intraOpThreads']))
  expect(next).toEqual({ ...settings, apiKeys: requested.apiKeys, logLevel: 'debug' })
})

test('another certificate is applied; turning TLS on or off needs a restart', () => {
  const files = { tlsCertFile: '/cert', tlsKeyFile: '/key' }
  const other = { tlsCertFile: '/cert-2', tlsKeyFile: '/key-2' }
  const renewed = changeOf({ ...settings, ...files }, { ...settings, ...other })
  expect(renewed).toMatchObject({ applied: ['tlsCertFile', 'tlsKeyFile'], deferred: [], next: other })
  expect(changeOf(settings, { ...settings, ...files })).toMatchObject({
    applied: [],
    deferred: ['tlsCertFile', 'tlsKeyFile'],
    next: settings,
  })
  expect(changeOf({ ...settings, ...files }, settings)).toMatchObject({ applied: [], next: files })
})

test('a reload gives the new values to every part that holds one', () => {
  const bodiesBytesMax = 64 * 1024 * 1024
  const limitConnections = vi.fn()
  const parts = {
    current: { settings },
    apiKeys: new ApiKeys(settings.apiKeys),
    bodies: new BodyMemory(1),
    imageSemaphore: new ImageSemaphore(1),
    connections: { limit: limitConnections },
    listener: { renewCertificate: () => false, certificateDates: null },
    clock: () => 0,
    log: { level: 'info', info: vi.fn(), warn: vi.fn() },
  } as unknown as ReloadParts
  const requested: Settings = {
    ...settings,
    apiKeys: ['second-key'],
    logLevel: 'debug',
    bodiesBytesMax,
    connectionsMax: 64,
  }
  expect(reload(parts, () => requested)).toBe(true)
  expect(parts.current.settings).toEqual(requested)
  expect(parts.apiKeys.accepts('second-key')).toBe(true)
  expect(parts.apiKeys.accepts('first-key')).toBe(false)
  expect(parts.log.level).toBe('debug')
  expect(parts.bodies.bytesMax).toBe(bodiesBytesMax)
  expect(parts.imageSemaphore.waitingBytesMax).toBe(bodiesBytesMax / 2)
  expect(limitConnections).toHaveBeenCalledExactlyOnceWith(64)
})
