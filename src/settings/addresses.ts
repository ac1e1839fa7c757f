/** Addresses of listeners, as people and clients on this machine see them. */

/** Host and port in the form of a URL. */
export function authorityOf(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Where a client on this machine reaches a listener. */
export function localUrl(host: string, port: number, isTls: boolean): string {
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  return `http${isTls ? 's' : ''}://${authorityOf(name, port)}`
}

/** Whether only this machine can reach an address. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/i.test(host)
}
