/** The certificate and key of the service: each defect is named with its setting. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeTlsChains, makeTlsFiles, opensslMissing } from '../../../test/helpers/tls-files.js'
import { tlsProblem } from './tls-files.js'

describe.skipIf(opensslMissing)('the reason names the setting', () => {
  const directory = mkdtempSync(join(tmpdir(), 'understudy-tls-'))
  afterAll(() => rmSync(directory, { recursive: true }))
  const at = (name: string): string => join(directory, name)
  const put = (name: string, content: string | Buffer): void => writeFileSync(at(name), content)
  const openssl = (...args: string[]): Buffer =>
    execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'ignore'] })

  beforeAll(() => {
    const { cert, key } = makeTlsFiles(directory, 'rsa')
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=ec']
    openssl('req', '-x509', ...curve, '-keyout', at('ec-key.pem'), '-out', at('ec-cert.pem'))
    makeTlsFiles(directory, 'other')
    const chains = makeTlsChains(directory, ['leaf'])
    const blocks = readFileSync(chains.leaf.cert, 'utf8').split(/(?<=-----END CERTIFICATE-----\n)/)
    put('reversed.pem', blocks.reverse().join(''))
    put('empty.pem', '')
    put('text.pem', 'none\n')
    put('mark.pem', `\ufeff${readFileSync(cert, 'utf8')}`)
    put('cut.pem', `${readFileSync(cert, 'utf8').slice(0, 200)}\n-----END CERTIFICATE-----\n`)
    put('cert.der', openssl('x509', '-in', cert, '-outform', 'der'))
    put('lines.pem', readFileSync(cert, 'utf8').replaceAll('\n', '\r\n'))
    put('both.pem', readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'))
    put('encrypted.pem', openssl('pkcs8', '-topk8', '-in', key, '-passout', 'pass:secret'))
    put('old.pem', openssl('rsa', '-in', key, '-aes128', '-traditional', '-passout', 'pass:secret'))
  })

  test.each([
    [
      'rsa-cert.pem',
      'ec-key.pem',
      /^tlsKey is not the key of tlsCert: tlsKey is EC, and tlsCert is for RSA$/,
    ],
    [
      'ec-cert.pem',
      'rsa-key.pem',
      /^tlsKey is not the key of tlsCert: tlsKey is RSA, and tlsCert is for EC$/,
    ],
    ['rsa-cert.pem', 'other-key.pem', /^tlsKey is not the key of tlsCert$/],
    [
      'reversed.pem',
      'leaf.key',
      /^tlsCert has its chain in the wrong order: certificate 2 belongs to tlsKey/,
    ],
    ['rsa-cert.pem', 'encrypted.pem', /^tlsKey is encrypted with a passphrase/],
    ['rsa-cert.pem', 'old.pem', /^tlsKey is encrypted with a passphrase/],
    ['empty.pem', 'rsa-key.pem', /^tlsCert is empty$/],
    ['rsa-cert.pem', 'empty.pem', /^tlsKey is empty$/],
    ['text.pem', 'rsa-key.pem', /^tlsCert has no certificate in PEM form$/],
    ['rsa-cert.pem', 'text.pem', /^tlsKey has no private key in PEM form$/],
    ['rsa-key.pem', 'rsa-cert.pem', /^tlsCert has a private key and no certificate; .* may be swapped$/],
    ['rsa-cert.pem', 'ec-cert.pem', /^tlsKey has a certificate and no private key; .* may be swapped$/],
    ['mark.pem', 'rsa-key.pem', /^tlsCert starts with a byte order mark \(BOM\)/],
    ['cert.der', 'rsa-key.pem', /^tlsCert is in DER form/],
    ['cut.pem', 'rsa-key.pem', /^certificate 1 of tlsCert cannot be read: /],
    ['absent.pem', 'rsa-key.pem', /^tlsCert cannot be read: ENOENT/],
    ['rsa-cert.pem', 'absent.pem', /^tlsKey cannot be read: ENOENT/],
    ['.', 'rsa-key.pem', /^tlsCert cannot be read: EISDIR/],
  ])('%s with %s', (cert, key, problem) => {
    expect(tlsProblem(at(cert), at(key))).toMatch(problem)
  })

  test.each([
    ['rsa-cert.pem', 'rsa-key.pem'],
    ['ec-cert.pem', 'ec-key.pem'],
    ['leaf-chain.pem', 'leaf.key'],
    ['lines.pem', 'rsa-key.pem'],
    ['both.pem', 'both.pem'],
  ])('%s with %s is accepted', (cert, key) => {
    expect(tlsProblem(at(cert), at(key))).toBeNull()
  })
})
