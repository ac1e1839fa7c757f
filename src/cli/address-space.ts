/**
 * Refuses to run under a limit of address space (`ulimit -v`) that is too small. Without this check, the program would end
 * by a signal or with a stack of Node's: WebAssembly reserves 10 GiB, and a server maps its data file at full size.
 */
import { readFileSync } from 'node:fs'
import { mapBytesDefault } from '../store/index.js'
import { CommandError } from './failure.js'

const gibibyte = 1024 ** 3
/** Measured: 14 GB suffice for the commands, and a server takes 12 GiB besides its map. The rest is for many threads. */
const commandBytes = 32 * gibibyte
const serverBytes = mapBytesDefault + 64 * gibibyte

/** Throws a `CommandError` with the limit and the need of a command, such as `serve`. */
export function checkAddressSpace(command: string, limitBytes = grantedBytes()): void {
  const neededBytes = command === 'serve' || command === 'demo' ? serverBytes : commandBytes
  if (limitBytes >= neededBytes) return
  const limit = (limitBytes / gibibyte).toFixed(1)
  throw new CommandError(
    `${command} reserves up to ${neededBytes / gibibyte} GiB of address space, and this process is limited to ${limit} GiB; ` +
      'run it without the limit: ulimit -v unlimited',
  )
}

/** RLIMIT_AS in bytes; Infinity where there is no limit or no /proc. */
function grantedBytes(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max address space\s+(\d+)/m.exec(limits)?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}
