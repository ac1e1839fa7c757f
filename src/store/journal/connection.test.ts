/**
 * Connections to a PostgreSQL that asks for TLS and passwords in different ways: what the address demands is had, or nothing is sent.
 */
import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { cluster, connectionOptions, postgresBin } from '../../../test/helpers/journals.js'
import { makeTlsFiles, opensslMissing } from '../../../test/helpers/tls-files.js'
import { JournalConnection } from './connection.js'

const roles = ['scram', 'clear', 'without']
const rules = [
  'hostssl all scram 127.0.0.1/32 scram-sha-256',
  'hostssl all clear 127.0.0.1/32 password',
  'hostssl all trusted 127.0.0.1/32 trust',
  'hostnossl all without 127.0.0.1/32 scram-sha-256',
  'hostnossl all postgres 127.0.0.1/32 trust',
]

describe.skipIf(postgresBin === null || opensslMissing)('a connection to the journal', () => {
  let certificate: string
  let port: number

  beforeAll(async () => {
    const servers = await cluster()
    const { dataDir } = servers.primary
    const { cert, key } = makeTlsFiles(dataDir, 'postgres')
    const { uid, gid } = statSync(dataDir)
    for (const file of [cert, key]) chownSync(file, uid, gid)
    chmodSync(key, 0o600)
    writeFileSync(join(dataDir, 'pg_hba.conf'), `${rules.join('\n')}\n`)
    for (const role of roles) servers.sql(`create role ${role} login password 'secret'`)
    servers.sql('create role trusted login')
    for (const [name, value] of [
      ['ssl', 'on'],
      ['ssl_cert_file', cert],
      ['ssl_key_file', key],
    ])
      servers.sql(`alter system set ${name} = '${value}'`)
    servers.sql('select pg_reload_conf()')
    certificate = cert
    port = servers.primary.port
  })

  const open = async (role: string, query: string): Promise<string> => {
    const url = `postgres://${role}:secret@127.0.0.1:${port}/postgres?${query.replace('CA', certificate)}`
    const connection = await JournalConnection.open(url, connectionOptions)
    const [row] = await connection.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
    connection.close()
    return row?.['ssl'] === true ? 'encrypted' : 'in clear'
  }

  test.each([
    ['scram', 'sslmode=verify-full&sslrootcert=CA'],
    ['scram', 'sslmode=require&channel_binding=require&sslrootcert=CA'],
    ['scram', 'sslmode=verify-full&channel_binding=prefer&sslrootcert=CA'],
    ['scram', 'sslmode=no-verify'],
    ['clear', 'sslmode=verify-full&channel_binding=prefer&sslrootcert=CA'],
  ])('as %s with %s is encrypted', async (role, query) => {
    expect(await open(role, query)).toBe('encrypted')
  })

  test('without sslmode is in clear', async () => {
    expect(await open('without', '')).toBe('in clear')
  })

  test.each([
    ['clear', 'sslmode=verify-full&channel_binding=require&sslrootcert=CA', 'channel binding'],
    ['trusted', 'sslmode=verify-full&channel_binding=require&sslrootcert=CA', 'channel binding'],
    ['scram', 'sslmode=require', 'self-signed certificate'],
    ['scram', 'sslmode=verify-full&sslrootcert=system', 'self-signed certificate'],
    ['scram', 'sslmode=verify-full&sslrootcert=/absent.crt', 'sslrootcert cannot be read'],
    ['without', 'sslmode=verify-full&sslrootcert=CA', 'pg_hba.conf'],
    ['scram', '', 'pg_hba.conf'],
    ['scram', 'ssl_mode=verify-full', 'the parameter ssl_mode is unknown'],
  ])('as %s with %s is refused', async (role, query, problem) => {
    await expect(open(role, query)).rejects.toMatchObject({
      message: expect.stringContaining(problem) as string,
    })
  })
})
