/**
 * Checks that a server can listen on its address before anything is created or logged. The HTTP library reports only that
 * it cannot; a Node socket reports the reason.
 */
import { createServer, type AddressInfo } from 'node:net'
import { CommandError, messageOf } from './failure.js'

/**
 * Listens briefly and resolves with the port: the given one, or for 0 a free one. Rejects with one line that says why the
 * port is not available and what to change.
 */
export async function checkPort(host: string, port: number): Promise<number> {
  const probe = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen({ host, port }, resolve)
    })
  } catch (cause) {
    const place = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
    throw new CommandError(`cannot listen on ${place}: ${explain(cause, host)}`, { cause })
  }
  const { port: bound } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return bound
}

function explain(cause: unknown, host: string): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  switch (code) {
    case 'EADDRINUSE':
      return 'the port is in use; choose another one with --port'
    case 'EACCES':
    case 'EPERM':
      return 'this user may not use the port; choose another one with --port'
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
      return `${host} is not an address of this machine; choose another one with --host`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${host} has no address; choose another one with --host`
    default:
      return messageOf(cause)
  }
}

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i.test(host)
}
