/**
 * Effective settings: precedence and invalid values, with real files.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { UsageError } from '../failure.js'
import { readSettings, type EffectiveSettings } from './read-settings.js'
import { flagOf, settingNames, settingsTable, variableOf } from '../../settings/index.js'

const directory = mkdtempSync(join(tmpdir(), 'understudy-settings-'))
afterAll(() => rmSync(directory, { recursive: true }))

function read(flags: Record<string, string> = {}, env: Record<string, string> = {}): EffectiveSettings {
  return readSettings({ flags, env, directory })
}

function settingsFile(members: unknown, name = 'settings.json'): string {
  const file = join(directory, name)
  writeFileSync(file, typeof members === 'string' ? members : JSON.stringify(members), { mode: 0o600 })
  return file
}

/** The message of the `UsageError` that reading must end in. */
function refusal(flags: Record<string, string>, env: Record<string, string> = {}): string {
  try {
    read(flags, env)
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError)
    return (error as UsageError).message
  }
  throw new Error('nothing was refused')
}

describe('precedence', () => {
  const config = settingsFile({ port: 3, host: 'file.example', clockSkewMs: 5 })

  test('a flag comes before the environment, the environment before the file, the file before the default', () => {
    const { settings, origins } = read(
      { port: '1', config },
      { UNDERSTUDY_PORT: '2', UNDERSTUDY_HOST: 'env.example' },
    )
    expect(settings).toMatchObject({ port: 1, host: 'env.example', clockSkewMs: 5, logLevel: 'info' })
    expect([...origins].filter(([, origin]) => origin !== 'default')).toEqual([
      ['host', 'UNDERSTUDY_HOST'],
      ['port', '--port'],
      ['clockSkewMs', `${config}:clockSkewMs`],
    ])
  })

  test('UNDERSTUDY_CONFIG names the file if --config does not', () => {
    const other = settingsFile({ port: 4 }, 'other.json')
    expect(read({}, { UNDERSTUDY_CONFIG: config }).settings.port).toBe(3)
    expect(read({ config: other }, { UNDERSTUDY_CONFIG: config }).settings.port).toBe(4)
  })

  test('an empty variable counts as absent', () => {
    expect(read({}, { UNDERSTUDY_PORT: '' }).origins.get('port')).toBe('default')
  })

  test('a path in the file is relative to the file, any other to the working directory', () => {
    const nested = mkdtempSync(join(directory, 'nested-'))
    const file = join(nested, 'settings.json')
    writeFileSync(file, JSON.stringify({ dataDir: 'd', modelsDir: 'm' }))
    const { settings } = read({ config: file, dataDir: 'd' })
    expect(settings.dataDir).toBe(join(directory, 'd'))
    expect(settings.modelsDir).toBe(join(nested, 'm'))
  })

  test('every setting can be given by its variable, and by a flag unless it is a secret', () => {
    const names = settingNames.map(variableOf)
    expect(new Set(names).size).toBe(names.length)
    expect(settingNames.filter((name) => flagOf(name) === null)).toEqual(['journal', 'apiKeys'])
  })
})

describe('refusals', () => {
  test.each([
    ['port', { UNDERSTUDY_PORT: '80a' }, 'port (from UNDERSTUDY_PORT) must be an integer from 0 to 65535'],
    ['port', { UNDERSTUDY_PORT: '70000' }, 'port (from UNDERSTUDY_PORT) must be an integer from 0 to 65535'],
    [
      'logLevel',
      { UNDERSTUDY_LOG_LEVEL: 'loud' },
      'logLevel (from UNDERSTUDY_LOG_LEVEL) must be one of silent',
    ],
    ['host', { UNDERSTUDY_HOST: 'a b' }, 'host (from UNDERSTUDY_HOST) must be a host name or an IP address'],
    [
      'executionProviders',
      { UNDERSTUDY_EXECUTION_PROVIDERS: 'cpu,cpu' },
      'executionProviders (from UNDERSTUDY_EXECUTION_PROVIDERS) must be one or more of cpu, cuda, tensorrt',
    ],
    [
      'initialWeights',
      {
        UNDERSTUDY_INITIAL_WEIGHTS:
          '{"version":"v","weights":{"views":0,"comments":0,"up":0,"downvote_share":0}}',
      },
      'initialWeights (from UNDERSTUDY_INITIAL_WEIGHTS) must be an object like',
    ],
    [
      'logLevel',
      { UNDERSTUDY_LOG_LEVEL: 'loud' },
      'logLevel (from UNDERSTUDY_LOG_LEVEL) must be one of silent, fatal, error, warn, info, debug, trace',
    ],
    [
      'journal',
      { UNDERSTUDY_JOURNAL: 'postgres://u:hush@one/db?ssl_mode=verify-full' },
      'journal (from UNDERSTUDY_JOURNAL) must be a postgres:// address: the parameter ssl_mode is unknown',
    ],
  ])('an invalid %s is an error on one line with its name, its source and the rule', (_, env, message) => {
    expect(refusal({}, env)).toContain(message)
    expect(refusal({}, env)).not.toMatch(/\n|hush/)
  })

  test('the error for an invalid value in the file names the file and the key', () => {
    const config = settingsFile({ port: '8080' }, 'bad.json')
    expect(refusal({ config })).toBe(
      `port (from ${config}:port) must be an integer from 0 to 65535, not "8080"`,
    )
  })

  test('an unknown name is refused, in the file and in the environment', () => {
    expect(refusal({ config: settingsFile({ prot: 1 }, 'typo.json') })).toContain('unknown setting "prot"')
    expect(refusal({}, { UNDERSTUDY_PROT: '1' })).toContain('unknown variable UNDERSTUDY_PROT')
  })

  test('the error for a file that is not a JSON object does not quote the file', () => {
    const message = refusal({ config: settingsFile('{"apiKeys": ["very-secret-key"', 'broken.json') })
    expect(message).toMatch(/broken\.json is not valid JSON \(line 1 column 31\)$/)
    expect(refusal({ config: settingsFile('{"apiKeys": very-secret-key}', 'bare.json') })).toMatch(
      /valid JSON$/,
    )
    expect(message).not.toContain('secret')
    expect(refusal({ config: settingsFile('[]', 'list.json') })).toContain('must contain a JSON object')
    expect(refusal({ config: join(directory, 'absent.json') })).toContain('cannot read the settings file')
  })

  test.each(['short', 'with space', 'schlüssel-lang-genug', 'same-key-0123456789,same-key-0123456789'])(
    'the API key %j is refused and not repeated',
    (keys) => {
      const message = refusal({}, { UNDERSTUDY_API_KEYS: keys })
      expect(message).toContain('apiKeys (from UNDERSTUDY_API_KEYS) must be keys, each of 16 to 256 ')
      expect(message).not.toContain(keys)
    },
  )
})

describe('API keys', () => {
  test.each([
    ['key-number-1-0123456789,key-number-2-0123456789', 'text-keys.json'],
    [[], 'no-keys.json'],
  ])('a list in the file must be an array that is not empty', (apiKeys, file) => {
    const config = settingsFile({ apiKeys }, file)
    expect(refusal({ config })).toBe(
      `apiKeys (from ${config}:apiKeys) must be a JSON array of keys, each of 16 to 256 visible ASCII characters without ` +
        'white space or commas; without duplicates',
    )
  })

  test('the error for a missing key file has its name, its source and its path', () => {
    const apiKeysFile = join(directory, 'no-keys')
    expect(refusal({ apiKeysFile })).toContain(
      `apiKeysFile (from --api-keys-file): ${apiKeysFile} cannot be read`,
    )
  })

  test('keys of the environment and of the key file are combined without duplicates', () => {
    const apiKeysFile = join(directory, 'keys')
    writeFileSync(
      apiKeysFile,
      'key-number-2-0123456789\r\nkey-number-3-0123456789, key-number-1-0123456789\n\n',
      { mode: 0o600 },
    )
    const { settings, warnings, origins } = read(
      { apiKeysFile },
      { UNDERSTUDY_API_KEYS: 'key-number-1-0123456789, key-number-2-0123456789' },
    )
    expect(settings.apiKeys).toEqual([
      'key-number-1-0123456789',
      'key-number-2-0123456789',
      'key-number-3-0123456789',
    ])
    expect(warnings).toEqual([])
    expect(origins.get('apiKeys')).toBe(`UNDERSTUDY_API_KEYS, ${apiKeysFile}`)
    expect(origins.get('apiKeysFile')).toBe('--api-keys-file')
    expect(read({ apiKeysFile }).origins.get('apiKeys')).toBe(apiKeysFile)
  })

  test('a key file that all users can read causes a warning', () => {
    const apiKeysFile = join(directory, 'open-keys')
    writeFileSync(apiKeysFile, 'key-number-1-0123456789\n')
    chmodSync(apiKeysFile, 0o644)
    expect(read({ apiKeysFile }).warnings).toEqual([expect.stringContaining(`chmod o= ${apiKeysFile}`)])
  })

  test.each([
    [0o700, 0],
    [0o750, 0],
    [0o751, 1],
    [0o755, 1],
  ])('a data directory of mode %o causes %i warnings', (mode, count) => {
    const dataDir = join(directory, `mode-${mode}`)
    mkdirSync(dataDir)
    chmodSync(dataDir, mode)
    const warning = expect.stringContaining(`chmod o= ${dataDir}`) as string
    expect(read({ dataDir }).warnings).toEqual(Array.from({ length: count }, () => warning))
  })

  test.each(['api-key', 'admin-token'])('a generated %s that all users can read causes a warning', (name) => {
    const dataDir = join(directory, `generated-${name}`)
    mkdirSync(dataDir, { mode: 0o700 })
    const file = join(dataDir, name)
    writeFileSync(file, 'k'.repeat(32), { mode: 0o600 })
    expect(read({ dataDir }).warnings).toEqual([])
    chmodSync(file, 0o644)
    expect(read({ dataDir }).warnings).toEqual([expect.stringContaining(`chmod o= ${file}`)])
  })
})

// Self-signed for localhost, valid for a hundred years, used only by this test.
const certificate = `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUObC6ScrcaLdLgqnYVtougPgSsKkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA4MjMzOFoYDzIxMjYxMDI4
MDgyMzM4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASTvw6zhtJwkUU6QQwnuVxQN5aZuQcmRAj2CxZyyWIm7Az5l/qXCZkA
2d/F3lS4VAlmmY+hQqjL8cx59w0pGJE9o28wbTAdBgNVHQ4EFgQU/6NH7oWLox5y
3hEmpFNz8z3PoxkwHwYDVR0jBBgwFoAU/6NH7oWLox5y3hEmpFNz8z3PoxkwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhAJOluILnHHph8u6SHn4v2zsGShSQSzjJbrsRvSCtAZeFAiBF
EfNLAsjpkIjzkgUVdkMfbKgDNUGo1jarkDuqig3RSg==
-----END CERTIFICATE-----
`
const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWYifOfAn5tPcczfm
taBNBAMRotkZ6ijpmfmviCNMcfKhRANCAASTvw6zhtJwkUU6QQwnuVxQN5aZuQcm
RAj2CxZyyWIm7Az5l/qXCZkA2d/F3lS4VAlmmY+hQqjL8cx59w0pGJE9
-----END PRIVATE KEY-----
`

test.each([
  [
    'a byte order mark',
    '\ufeff{}',
    'utf8',
    /starts with a byte order mark \(BOM\): save it as UTF-8 without BOM$/,
  ],
  ['UTF-16', '\ufeff{}', 'utf16le', /is in UTF-16: save it as UTF-8 without BOM$/],
] as const)('a settings file with %s is refused with a hint', (_, content, encoding, message) => {
  const file = join(directory, 'marked.json')
  writeFileSync(file, content, encoding)
  expect(refusal({ config: file })).toMatch(message)
})

describe('TLS', () => {
  const cert = join(directory, 'cert.pem')
  const key = join(directory, 'key.pem')
  writeFileSync(cert, certificate)
  writeFileSync(key, certificateKey, { mode: 0o600 })

  test('a certificate and its key are accepted', () => {
    expect(read({ tlsCert: cert, tlsKey: key }).settings).toMatchObject({
      tlsCertFile: cert,
      tlsKeyFile: key,
    })
  })

  test('one file without the other is refused', () => {
    expect(refusal({ tlsCert: cert })).toContain('tlsCert (from --tls-cert) needs tlsKey')
    expect(refusal({}, { UNDERSTUDY_TLS_KEY: key })).toContain(
      'tlsKey (from UNDERSTUDY_TLS_KEY) needs tlsCert',
    )
  })

  test('files that cannot be read or are not a pair are refused', () => {
    const rule = 'must be readable PEM files of one key pair'
    expect(refusal({ tlsCert: cert, tlsKey: join(directory, 'absent.pem') })).toContain(rule)
    expect(refusal({ tlsCert: key, tlsKey: cert })).toContain(rule)
  })
})

test('plain HTTP on an address that is not loopback is a warning', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', 'localhost', '::1'])
    expect(read({ host }).warnings).toEqual([])
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.org', '127.0.0.1.example.org']) {
    expect(read({ host }).warnings).toEqual([
      expect.stringContaining(`plain HTTP on ${host} sends API keys unencrypted`),
    ])
  }
  const files = { tlsCert: join(directory, 'cert.pem'), tlsKey: join(directory, 'key.pem') }
  expect(read({ host: '0.0.0.0', ...files }).warnings).toEqual([])
})

test('settings are frozen', () => {
  const { settings } = read({}, { UNDERSTUDY_API_KEYS: 'key-number-1-0123456789' })
  expect(Object.isFrozen(settings) && Object.isFrozen(settings.apiKeys)).toBe(true)
})

test('a number may be its minimum and its maximum, and no more', () => {
  let count = 0
  for (const name of settingNames) {
    const { kind } = settingsTable[name]
    const [, minimum = NaN, maximum = NaN] =
      /^an integer from (\d+) to (\d+)$/.exec(kind.rule)?.map(Number) ?? []
    if (Number.isNaN(maximum)) continue
    count++
    for (const value of [minimum, maximum]) {
      expect(kind.fromText(String(value), ''), name).toBe(value)
      expect(kind.fromJson(value, ''), name).toBe(value)
    }
    for (const value of [minimum - 1, maximum + 1]) {
      expect(kind.fromText(String(value), ''), name).toBeUndefined()
      expect(kind.fromJson(value, ''), name).toBeUndefined()
    }
  }
  expect(count).toBeGreaterThan(10)
})
