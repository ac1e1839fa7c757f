/**
 * The server of this program that listens on a port of this machine, for an error message. Linux shows it in /proc, as far
 * as this user may see it; elsewhere it stays unknown.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { directoryLockName } from '../store/index.js'

/** TCP_LISTEN in the column `st` of /proc/net/tcp. */
const listeningState = '0A'

export interface PortOwner {
  readonly pid: number
  readonly dataDir: string
}

/** null: none, or it is not visible. A server is recognised by the lock of its data directory, which it holds open. */
export function serverOnPort(port: number): PortOwner | null {
  const sockets = new Set(
    ['/proc/net/tcp', '/proc/net/tcp6']
      .flatMap((file) => listeningInodes(file, port))
      .map((inode) => `socket:[${inode}]`),
  )
  if (sockets.size === 0) return null
  for (const pid of entriesOf('/proc').filter((name) => /^\d+$/.test(name))) {
    const files = entriesOf(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`))
    const lock = files.find((file) => basename(file) === directoryLockName)
    if (lock !== undefined && files.some((file) => sockets.has(file)))
      return { pid: Number(pid), dataDir: dirname(lock) }
  }
  return null
}

/** Lines: `sl local_address rem_address st … inode …`; the local address ends with the port in hexadecimal. */
function listeningInodes(file: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return textOf(file)
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[1]?.endsWith(suffix) === true && columns[3] === listeningState)
    .map((columns) => columns[9] ?? '')
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
