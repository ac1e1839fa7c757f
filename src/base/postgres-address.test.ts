import { describe, expect, test } from 'vitest'
import { readPostgresAddress } from './postgres-address.js'

const read = (text: string) => readPostgresAddress(text, '')

describe('the address of a PostgreSQL database', () => {
  test.each([
    ['postgres://u@one/db', { servers: [{ label: 'one', host: 'one' }], user: 'u', database: 'db' }],
    ['postgresql://u:p%40%2F%3A@one/db', { password: 'p@/:' }],
    ['postgres://u:a:b#c@one/db', { user: 'u', password: 'a:b#c' }],
    [
      'postgres://one:5433,[::1]:5434,10.0.0.1/db',
      {
        servers: [
          { label: 'one:5433', host: 'one', port: 5433 },
          { label: '[::1]:5434', host: '::1', port: 5434 },
          { label: '10.0.0.1', host: '10.0.0.1' },
        ],
      },
    ],
    [
      'postgres://%2Frun%2Fpostgresql/db',
      { servers: [{ label: '%2Frun%2Fpostgresql', host: '/run/postgresql' }] },
    ],
    [
      'postgres:///db?host=/run/postgresql&port=5433',
      { servers: [{ label: '/run/postgresql', host: '/run/postgresql', port: 5433 }] },
    ],
    ['postgres://u@/db', { servers: [{ label: 'localhost' }] }],
    ['postgres://one/db', { sslMode: 'disable', channelBinding: 'disable' }],
    [
      'postgres://one/db?sslmode=verify-full&sslrootcert=/a%20b.crt&sslcert=c&sslkey=k&channel_binding=require',
      {
        sslMode: 'verify-full',
        sslRootCert: '/a b.crt',
        sslCert: 'c',
        sslKey: 'k',
        channelBinding: 'require',
      },
    ],
  ])('%s', (text, expected) => {
    expect(read(text)).toMatchObject(expected)
  })

  test('what is absent has no member, so that the variables of PostgreSQL apply', () => {
    expect(Object.keys(read('postgres://'))).toEqual(['servers', 'sslMode', 'channelBinding'])
  })

  test.each([
    ['ssl_mode=verify-full', 'the parameter ssl_mode is unknown; the known ones are host, port, sslmode'],
    ['sslmode=verify-ful', 'sslmode must be one of disable, no-verify, require, verify-ca, verify-full'],
    ['sslmode=prefer', 'sslmode must be one of'],
    ['SSLMODE=require', 'the parameter SSLMODE is unknown'],
    ['ssl=false', 'the parameter ssl is unknown'],
    ['require_auth=scram-sha-256', 'the parameter require_auth is unknown'],
    ['application_name=a', 'the parameter application_name is unknown'],
    ['sslmode=disable&sslmode=require', 'the parameter sslmode is there twice'],
    ['sslmode=', 'the parameter sslmode has no value'],
    ['sslmode', 'the parameter sslmode has no value'],
    ['channel_binding=yes', 'channel_binding must be one of disable, prefer, require'],
    ['channel_binding=require', 'channel_binding=require needs TLS'],
    ['sslrootcert=ca.crt', 'certificates need TLS'],
    ['sslmode=require&sslcert=c', 'sslcert and sslkey are used together'],
    ['host=two', 'not in both'],
  ])('is refused with the parameters %s', (query, problem) => {
    expect(() => read(`postgres://u:hush@one/db?${query}`)).toThrow(problem)
  })

  test.each([
    'mysql://u:hush@one/db',
    'postgres://u:hush?hush@one/db',
    'postgres://u:hush?h=ush@one/db',
    'postgres://u:hush/hush@one/db',
    'postgres://u:12/hush@one/db',
    'postgres://u:hush%zz@one/db',
    'postgres://u:hush@one:0/db',
    'postgres://u:hush@one:65536/db',
    'postgres://u:hush@one,/db',
    'postgres://u:hush@one/db/more',
    'postgres://u:hush@one/db?hush%20=1',
  ])('%s is refused without a part of it', (text) => {
    expect(() => read(text)).toThrow(/^(?!.*hush)/)
  })

  test('PGSSLMODE applies to an address without sslmode, under the same rule', () => {
    expect(readPostgresAddress('postgres://one/db', 'require').sslMode).toBe('require')
    expect(readPostgresAddress('postgres://one/db?sslmode=verify-full', 'disable').sslMode).toBe(
      'verify-full',
    )
    expect(() => readPostgresAddress('postgres://one/db', 'verify-ful')).toThrow('sslmode must be one of')
  })
})
