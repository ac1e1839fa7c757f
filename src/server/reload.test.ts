/** Which settings change while the server runs. */
import { expect, test } from 'vitest'
import { changeOf } from './reload.js'
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
    codec: 'reference',
  }
  const { next, applied, deferred } = changeOf(settings, requested)
  expect(new Set(applied)).toEqual(new Set(['apiKeys', 'logLevel']))
  expect(new Set(deferred)).toEqual(new Set(['port', 'executionProviders', 'codec']))
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
