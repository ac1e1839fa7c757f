/**
 * Checks the certificate and the key of the service before it listens. The TLS library of the service reports only that
 * it cannot use them; the reason is found here.
 */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { encodingProblem, messageLine } from '../failure.js'

type TlsSetting = 'tlsCert' | 'tlsKey'

const certificatePattern =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^]*?-----END [A-Z0-9 ]*CERTIFICATE-----/g
const keyPattern = /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----/
const encryptedPattern = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m
/** The first byte of DER: a sequence. */
const derByte = 0x30

/** Why the files cannot be used, beginning with the setting; null: they can. */
export function tlsProblem(certFile: string, keyFile: string): string | null {
  try {
    const cert = readPem('tlsCert', certFile)
    const key = readPem('tlsKey', keyFile)
    checkPair(certificatesOf(cert), privateKeyOf(key))
    // The TLS library of Node knows further rules, such as the size of a key.
    createSecureContext({ cert, key })
    return null
  } catch (error) {
    return messageLine(error)
  }
}

function readPem(setting: TlsSetting, file: string): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw new Error(`${setting} cannot be read: ${messageLine(error)}`, { cause: error })
  }
  const encoding = encodingProblem(bytes)
  if (bytes.length === 0) throw new Error(`${setting} is empty`)
  if (encoding !== null) throw new Error(`${setting} ${encoding}`)
  if (bytes[0] === derByte) throw new Error(`${setting} is in DER form: convert it to PEM with openssl`)
  return bytes.toString('latin1')
}

function certificatesOf(pem: string): X509Certificate[] {
  const blocks = pem.match(certificatePattern) ?? []
  if (blocks.length === 0)
    throw new Error(
      keyPattern.test(pem)
        ? 'tlsCert has a private key and no certificate; tlsCert and tlsKey may be swapped'
        : 'tlsCert has no certificate in PEM form',
    )
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block)
    } catch (error) {
      throw new Error(`certificate ${index + 1} of tlsCert cannot be read: ${messageLine(error)}`, {
        cause: error,
      })
    }
  })
}

function privateKeyOf(pem: string): KeyObject {
  if (encryptedPattern.test(pem))
    throw new Error(
      'tlsKey is encrypted with a passphrase: store it without one, readable only by the service',
    )
  if (!keyPattern.test(pem))
    throw new Error(
      pem.includes('CERTIFICATE')
        ? 'tlsKey has a certificate and no private key; tlsCert and tlsKey may be swapped'
        : 'tlsKey has no private key in PEM form',
    )
  try {
    return createPrivateKey(pem)
  } catch (error) {
    throw new Error(`tlsKey cannot be read: ${messageLine(error)}`, { cause: error })
  }
}

/** The certificate of the key comes first; those of the authorities that issued it follow. */
function checkPair(certificates: readonly X509Certificate[], key: KeyObject): void {
  const index = certificates.findIndex((certificate) => certificate.checkPrivateKey(key))
  if (index > 0)
    throw new Error(
      `tlsCert has its chain in the wrong order: certificate ${index + 1} belongs to tlsKey and must be the first`,
    )
  const issued = certificates[0]?.publicKey.asymmetricKeyType
  if (index < 0)
    throw new Error(
      issued === key.asymmetricKeyType
        ? 'tlsKey is not the key of tlsCert'
        : `tlsKey is not the key of tlsCert: tlsKey is ${nameOf(key.asymmetricKeyType)}, and tlsCert is for ${nameOf(issued)}`,
    )
}

function nameOf(type: KeyObject['asymmetricKeyType']): string {
  return (type ?? 'of an unknown type').toUpperCase()
}
