/**
 * Self-signed certificates, created with openssl if it is installed.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type ConnectionOptions } from 'node:tls'

export const opensslMissing = spawnSync('openssl', ['version']).error !== undefined

export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

/** A certificate for 127.0.0.1 in the name of `name`, and its key. */
export function makeTlsFiles(directory: string, name: string): TlsFiles {
  const files = { cert: join(directory, `${name}-cert.pem`), key: join(directory, `${name}-key.pem`) }
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '1']
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', files.key, '-out', files.cert, ...subject],
    { stdio: 'ignore' },
  )
  return files
}

/**
 * Certificates of one intermediate authority, one per name, and their keys. Each file has the whole chain, the own
 * certificate first.
 */
export function makeTlsChains<Name extends string>(
  directory: string,
  names: readonly Name[],
): Record<Name, TlsFiles> {
  const path = (name: string): string => join(directory, name)
  const make = (name: string, issuer: string | null, extension: string): void => {
    const key = ['-newkey', 'rsa:2048', '-nodes', '-keyout', path(`${name}.key`), '-days', '1']
    const by = issuer === null ? [] : ['-CA', path(`${issuer}.crt`), '-CAkey', path(`${issuer}.key`)]
    const subject = ['-subj', `/CN=${name}`, '-addext', extension, '-out', path(`${name}.crt`)]
    execFileSync('openssl', ['req', '-x509', ...key, ...by, ...subject], { stdio: 'ignore' })
  }
  make('root', null, 'basicConstraints=critical,CA:TRUE')
  make('intermediate', 'root', 'basicConstraints=critical,CA:TRUE')
  const chains = names.map((name) => {
    make(name, 'intermediate', 'subjectAltName=IP:127.0.0.1')
    const chain = [name, 'intermediate'].map((one) => readFileSync(path(`${one}.crt`), 'utf8')).join('')
    writeFileSync(path(`${name}-chain.pem`), chain)
    return [name, { cert: path(`${name}-chain.pem`), key: path(`${name}.key`) }]
  })
  return Object.fromEntries(chains) as Record<Name, TlsFiles>
}

/** Replaces the certificate by an expired one. */
export function expire({ cert, key }: TlsFiles): void {
  const anew = ['x509', '-in', cert, '-signkey', key, '-days', '-1', '-out', cert]
  execFileSync('openssl', anew, { stdio: 'ignore' })
}

export interface Handshake {
  /** The name in the server's certificate. */
  readonly name: string
  readonly protocol: string | null
  readonly cipher: string
}

/** Performs a TLS handshake with a local port and closes the connection. Rejects when it fails. */
export function tlsHandshake(port: number, options: ConnectionOptions = {}): Promise<Handshake> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
    socket.on('error', reject)
    socket.on('secureConnect', () => {
      const { CN } = socket.getPeerCertificate().subject
      const name = typeof CN === 'string' ? CN : ''
      resolve({ name, protocol: socket.getProtocol(), cipher: socket.getCipher().name })
      socket.destroy()
    })
  })
}

/** What a client needs to trust the certificate. */
export function authority({ cert }: TlsFiles): Buffer {
  return readFileSync(cert)
}
