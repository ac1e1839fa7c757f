/**
 * The resident memory of a process. Linux only: elsewhere it is unknown and not limited.
 */
import { readFile } from 'node:fs/promises'
import { inBackground } from '../../base/index.js'

const checkMs = 1000

/**
 * `VmRSS` is the current figure, `VmHWM` the largest so far, both with shared pages; `RssAnon` is the current one without
 * pages of files, such as those of a database.
 */
type MemoryFigure = 'VmRSS' | 'VmHWM' | 'RssAnon'

/** null: unknown. */
export async function residentBytes(pid: number, figure: MemoryFigure): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kibibytes = new RegExp(`^${figure}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]
  return kibibytes === undefined ? null : Number(kibibytes) * 1024
}

/** Calls `exceeded` once, with the bytes found, when the process holds more than `bytesMax`. Returns a function that stops it. */
export function watchMemory(
  pid: number,
  bytesMax: number,
  exceeded: (bytes: number) => void,
  figure: MemoryFigure = 'VmRSS',
): () => void {
  const check = async (): Promise<void> => {
    const bytes = (await residentBytes(pid, figure)) ?? 0
    if (bytes <= bytesMax) return
    clearInterval(timer)
    exceeded(bytes)
  }
  const timer = setInterval(() => inBackground('model process', check()), checkMs).unref()
  return () => clearInterval(timer)
}
