/**
 * What the system tells of a process: its threads, and the processes that it has started. Where there is no /proc, a
 * process is one thread and has started none.
 */
import { readdirSync, readFileSync } from 'node:fs'

export function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number)
  } catch {
    return [pid]
  }
}

/** The process and all that it has started, and so on. */
export function withDescendants(pid: number): number[] {
  return [pid, ...threadsOf(pid).flatMap((thread) => childrenOf(pid, thread).flatMap(withDescendants))]
}

/** By SIGKILL, what the process has started and so on; call it while the process is there, since it is not found later. */
export function killDescendants(pid: number): void {
  for (const descendant of withDescendants(pid).slice(1)) {
    try {
      process.kill(descendant, 'SIGKILL')
    } catch {
      // It is gone.
    }
  }
}

function childrenOf(pid: number, thread: number): number[] {
  try {
    const listed = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')
    return listed.split(' ').map(Number).filter(Boolean)
  } catch {
    return []
  }
}
