/**
 * Checks that a server can listen on its address before anything is created or logged. The HTTP library reports only that
 * it cannot; a Node socket reports the reason.
 */
import { createServer, type AddressInfo } from 'node:net'
import { CommandError, messageOf } from './failure.js'

/**
 * Listens briefly and resolves with the port: the given one, or for 0 a free one. Rejects with one line that states why the
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

const anotherPort = 'choose another one with --port'
const anotherHost = 'choose another one with --host'

function explain(cause: unknown, host: string): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
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
