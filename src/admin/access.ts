/**
 * Who may use the admin listener: the token, as a bearer token or in exchange for a cookie; the `Host` headers that are
 * accepted; and the headers that every response carries.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { hostname } from 'node:os'

export interface AccessOptions {
  readonly token: string
  /** The configured address. */
  readonly host: string
  readonly isTls: boolean
}

/** Nothing is loaded from elsewhere, nothing is inline, and no page may frame this one. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

export const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': contentSecurityPolicy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

export class Access {
  readonly #options: AccessOptions
  readonly #tokenDigest: Buffer
  /** Derived from the token, so that the cookie survives a restart and is not the token. */
  readonly #session: string
  readonly #sessionDigest: Buffer
  readonly #names: ReadonlySet<string>

  constructor(options: AccessOptions) {
    this.#options = options
    this.#tokenDigest = digestOf(options.token)
    this.#session = createHmac('sha256', options.token)
      .update('session of the admin listener')
      .digest('base64url')
    this.#sessionDigest = digestOf(this.#session)
    this.#names = new Set(['localhost', options.host.toLowerCase(), hostname().toLowerCase()])
  }

  /**
   * Whether a `Host` header names this listener. A page of another site can point its own name at this address (DNS
   * rebinding), but it cannot use an IP address or a name that is ours. The port is not compared: a container may be
   * published under another one.
   */
  isOurHost(host: string): boolean {
    const name = /^(\[[^\]]*\]|[^:]*)(:\d{1,5})?$/.exec(host)?.[1]?.toLowerCase()
    if (name === undefined || name === '') return false
    return this.#names.has(name) || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
  }

  /** Whether a request carries the token or the cookie. */
  accepts({ headers }: IncomingMessage, port: number): boolean {
    const bearer = /^bearer +([^ ]+) *$/i.exec(headers.authorization ?? '')?.[1]
    if (bearer !== undefined) return this.isToken(bearer)
    const name = this.#cookieName(port)
    const cookies = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
    const values = cookies
      .filter((pair) => pair.startsWith(`${name}=`))
      .map((pair) => pair.slice(name.length + 1))
    return values.some((value) => timingSafeEqual(digestOf(value), this.#sessionDigest))
  }

  /** Takes constant time. */
  isToken(given: string): boolean {
    return timingSafeEqual(digestOf(given), this.#tokenDigest)
  }

  /** The `Set-Cookie` header of a login. Browsers send a cookie to every port of a host, so its name contains the port. */
  cookie(port: number): string {
    const attributes = `Path=/; HttpOnly; SameSite=Strict${this.#options.isTls ? '; Secure' : ''}`
    return `${this.#cookieName(port)}=${this.#session}; ${attributes}`
  }

  #cookieName(port: number): string {
    return `${this.#options.isTls ? '__Host-' : ''}understudy_admin_${port}`
  }
}

/** Digests have one length, so the time of a comparison reveals neither the length nor the content of a secret. */
function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
