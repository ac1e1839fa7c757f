/** The limits that the system sets for this process (getrlimit), as Linux lists them. */
import { readFileSync } from 'node:fs'

/** The soft limit. Infinity if there is none, or if the system has no /proc. */
export function resourceLimit(name: 'Max open files' | 'Max file size'): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const limit = limits.split('\n').find((line) => line.startsWith(name))
    return Number(limit?.slice(name.length).trim().split(/\s+/)[0]) || Infinity
  } catch {
    return Infinity
  }
}

/** Why this process cannot write a file of this size, as a sentence; null if its limits allow it. */
export function fileSizeProblem(bytes: number): string | null {
  const bytesMax = resourceLimit('Max file size')
  return bytes <= bytesMax
    ? null
    : `this process may write files of at most ${bytesMax} bytes (ulimit -f, LimitFSIZE), and ${bytes} are needed`
}
