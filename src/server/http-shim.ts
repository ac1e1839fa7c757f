/**
 * Whether the shim of `native/` is in this process, and what it is told. Without it, requests that a client sends in
 * advance cost it the connection, and nobody would know why.
 */
import { readFileSync } from 'node:fs'

const library = 'one-request-at-a-time.so'

/** Why pipelined requests are not served, or null when they are or the platform has no shim. */
export function shimMissing(): string | null {
  if (process.platform !== 'linux' || mappedFiles().includes(library)) return null
  return (
    `pipelined HTTP requests are not served, and connections of one address not counted: dist/native/${library} is not preloaded. bin/understudy preloads it when ` +
    'it is built (npm run build, with g++) and its path has neither spaces nor colons'
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
