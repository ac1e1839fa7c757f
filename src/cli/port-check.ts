/**
 * Checks that a server can listen on its address before anything is created or logged. The HTTP library reports only that
 * it cannot; a Node socket reports the reason.
 */
import { createServer, type AddressInfo } from 'node:net'
import { CommandError, messageOf } from './failure.js'

/**
 * Listens briefly and resolves with the port: the given one, or for 0 a free one. Rejects with one line that states why the
 * port is not available and what to change. `flagPrefix`: of the flags to change, such as `admin-`.
 */
export async function checkPort(host: string, port: number, flagPrefix = ''): Promise<number> {
  const probe = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen({ host, port }, resolve)
    })
  } catch (cause) {
    throw new CommandError(portProblem(cause, host, port, flagPrefix).message, { cause })
  }
  const { port: bound } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return bound
}

/** Why a port cannot be opened, on one line; `isTaken`: another process has it. */
export function portProblem(
  cause: unknown,
  host: string,
  port: number,
  flagPrefix: string,
): { readonly message: string; readonly isTaken: boolean } {
  const place = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const reason = explain({ cause, code, host, flagPrefix })
  return { message: `cannot listen on ${place}: ${reason}`, isTaken: code === 'EADDRINUSE' }
}

function explain({
  cause,
  code,
  host,
  flagPrefix,
}: {
  readonly cause: unknown
  readonly code: string
  readonly host: string
  readonly flagPrefix: string
}): string {
  const anotherPort = `choose another one with --${flagPrefix}port`
  const anotherHost = `choose another one with --${flagPrefix}host`
  if (code === 'EADDRINUSE') return `the port is in use; ${anotherPort}`
  if (['EACCES', 'EPERM'].includes(code)) return `this user may not use the port; ${anotherPort}`
  if (['ENOTFOUND', 'EAI_AGAIN'].includes(code)) return `the name ${host} has no address; ${anotherHost}`
  if (['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'].includes(code))
    return `${host} is not an address of this machine; ${anotherHost}`
  return messageOf(cause)
}

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i.test(host)
}
