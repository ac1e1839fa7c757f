/**
 * Who a client is, for limits per client: its IPv4 address, or the /64 of its IPv6 address, since that is what one
 * customer of a provider has. Behind proxies it is the address that the last trusted one was called from.
 */
import { isIP, isIPv4 } from 'node:net'

/**
 * The client as text, such as `192.0.2.7` or `2001:db8:0:1::/64`.
 * `peer`: the address of the connection, 4 or 16 bytes; empty where there is none, as for a connection that is gone.
 * `forwardedFor`: every `X-Forwarded-For` of the request, joined by commas. Each proxy adds at its end the address that
 * called it, so of n trusted proxies the n-th from the end is the client; what stands before it anyone may have written.
 */
export function clientOf(peer: Uint8Array, forwardedFor: string, trustedProxyCount: number): string {
  const own = networkOfBytes(peer)
  if (trustedProxyCount === 0) return own
  const told = forwardedFor.split(',').map((entry) => networkOfText(entry.trim()))
  const client = told.slice(-trustedProxyCount)[0]
  // Too few entries: a proxy was left out, and the first one is as far as trust reaches. None or nonsense: nobody told.
  return client ?? own
}

const unknown = 'unknown'

function networkOfBytes(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length !== 16) return unknown
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return networkOfGroups(Array.from({ length: 8 }, (_, index) => view.getUint16(index * 2)))
}

/** Undefined for what is no address. A port behind it, as some proxies write one, is left out. */
function networkOfText(text: string): string | undefined {
  const address = /^\[(.*)\](:\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text
  switch (isIP(address)) {
    case 4:
      return address
    case 6:
      return networkOfGroups(groupsOf(address.split('%', 1)[0] ?? ''))
    default:
      return undefined
  }
}

/** The eight groups of an IPv6 address that `isIP` takes for one. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const first = partsOf(head)
  const last = partsOf(tail ?? '')
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
}

function partsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    if (!isIPv4(part)) return [Number.parseInt(part, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}

function networkOfGroups(groups: readonly number[]): string {
  // ::ffff:a.b.c.d: how a socket for both families shows IPv4.
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.')
  }
  const network = groups.slice(0, 4).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}
