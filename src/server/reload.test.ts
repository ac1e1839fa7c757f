/**
 * Which settings may change while the server runs.
 */
import { expect, test } from 'vitest'
import { changeOf } from './reload.js'
import type { Settings } from './settings.js'

// As much of a server's settings as the tests below touch.
const settings = Object.freeze({
  host: '127.0.0.1',
  port: 8080,
  apiKeys: ['first-key'],
  executionProviders: ['cpu'],
  logLevel: 'info',
} satisfies Partial<Settings>) as unknown as Settings

test('the same settings, read anew, change nothing', () => {
  const { next, taken, left } = changeOf(settings, JSON.parse(JSON.stringify(settings)) as Settings)
  expect([taken, left]).toEqual([[], []])
  expect(next).toEqual(settings)
  expect(Object.isFrozen(next)).toBe(true)
})

test('what may change is taken, what may not stays as it was and is named', () => {
  const wanted: Settings = {
    ...settings,
    apiKeys: ['first-key', 'second-key'],
    logLevel: 'debug',
    port: 9090,
    executionProviders: ['cuda', 'cpu'],
    stageReport: '/report',
  }
  const { next, taken, left } = changeOf(settings, wanted)
  expect(new Set(taken)).toEqual(new Set(['apiKeys', 'logLevel']))
  expect(new Set(left)).toEqual(new Set(['port', 'executionProviders', 'stageReport']))
  expect(next).toEqual({ ...settings, apiKeys: wanted.apiKeys, logLevel: 'debug' })
})

test('other files with a certificate are taken; TLS itself is not turned on or off', () => {
  const files = { tlsCertFile: '/cert', tlsKeyFile: '/key' }
  const other = { tlsCertFile: '/cert-2', tlsKeyFile: '/key-2' }
  const renewed = changeOf({ ...settings, ...files }, { ...settings, ...other })
  expect(renewed).toMatchObject({ taken: ['tlsCertFile', 'tlsKeyFile'], left: [], next: other })
  expect(changeOf(settings, { ...settings, ...files })).toMatchObject({
    taken: [],
    left: ['tlsCertFile', 'tlsKeyFile'],
    next: settings,
  })
  expect(changeOf({ ...settings, ...files }, settings)).toMatchObject({ taken: [], next: files })
})
