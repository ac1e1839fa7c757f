/**
 * Whether the shim of `native/` is in this process, and what it is told. Without it, requests that a client sends in
 * advance cost it the connection, and so do request lines that come in parts, empty lines before one, chunks with extensions
 * and trailers; `Expect: 100-Continue` gets no leave; a byte from 0x80 on behind a key is cut off; large answers are cut where
 * their connection is closed with bytes unread; no address is limited, and a failed write of the disk may end the process.
 * Under TLS of its own, only these last three are seen to.
 */
import { readFileSync } from 'node:fs'

const library = 'one-request-at-a-time.so'

/** What is missing without the shim, or null where it is there or the platform has none. */
export function shimMissing(): string | null {
  if (process.platform !== 'linux' || mappedFiles().includes(library)) return null
  return (
    'pipelined HTTP requests, request lines that come in parts, extensions of chunks and trailers are not served, ' +
    'connections of one address not counted, and a failing disk may end the ' +
    `process: dist/native/${library} is not preloaded. bin/understudy preloads it when it is built (npm run build, ` +
    'with g++) and its path has neither spaces nor colons'
  )
}

/** Connections of one address that may be open. The shim looks at this variable whenever a connection comes. */
export function limitPerAddress(count: number): void {
  process.env.HTTP_SHIM_CONNECTIONS_PER_ADDRESS_MAX = String(count)
}

function mappedFiles(): string {
  try {
    return readFileSync('/proc/self/maps', 'utf8')
  } catch {
    // Without /proc: what was asked for.
    return process.env.LD_PRELOAD ?? ''
  }
}
