/**
 * Watches the resident memory of a process. Linux only: elsewhere there is no bound.
 */
import { readFile } from 'node:fs/promises'

const checkMs = 1000

/** Calls `exceeded` once, with the bytes found, when the process holds more than `bytesMax`. Returns a function that stops it. */
export function watchMemory(pid: number, bytesMax: number, exceeded: (bytes: number) => void): () => void {
  const check = async (): Promise<void> => {
    const bytes = await residentBytes(pid)
    if (bytes <= bytesMax) return
    clearInterval(timer)
    exceeded(bytes)
  }
  const timer = setInterval(() => void check(), checkMs).unref()
  return () => clearInterval(timer)
}

/** Resident memory, shared pages included; 0 for a process that is gone, and on other systems. */
async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0)
}
