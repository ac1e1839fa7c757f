/**
 * Checks that a server can listen on its address before anything is created or logged. The HTTP library reports only that
 * it cannot; a Node socket reports the reason.
 */
import { createServer, type AddressInfo } from 'node:net'
import { codeOf } from '../../base/index.js'
import { authorityOf } from '../../settings/index.js'
import { CommandError, messageLine } from '../failure.js'

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

/** Reasons by error code, and the flag to change. */
const reasons: Readonly<Record<string, readonly [reason: string, flag: 'port' | 'host']>> = {
  EADDRINUSE: ['the port is in use', 'port'],
  EACCES: ['this user may not use the port', 'port'],
  EPERM: ['this user may not use the port', 'port'],
  ENOTFOUND: ['the name of the host has no address', 'host'],
  EAI_AGAIN: ['the name of the host has no address', 'host'],
  EADDRNOTAVAIL: ['the host is not an address of this machine', 'host'],
  EAFNOSUPPORT: ['the host is not an address of this machine', 'host'],
  EINVAL: ['the host is not an address of this machine', 'host'],
}

/** Why a port cannot be opened, on one line; `isTaken`: another process has it. */
export function portProblem(
  cause: unknown,
  host: string,
  port: number,
  flagPrefix: string,
): { readonly message: string; readonly isTaken: boolean } {
  const code = codeOf(cause)
  const [reason, flag] = reasons[code] ?? [messageLine(cause), null]
  const isTaken = code === 'EADDRINUSE'
  const remedy = flag === null ? '' : `; choose another one with --${flagPrefix}${flag}`
  return {
    message: `cannot listen on ${authorityOf(host, port)}: ${reason}${remedy}`,
    isTaken,
  }
}
