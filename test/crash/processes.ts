/**
 * Child processes of a server, as Linux lists them.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const endMsMax = 10_000
const pollMs = 20

/** Pid and start time, since a pid may be given again. */
export interface Child {
  readonly pid: number
  readonly startedAt: string
}

/** Direct children of `pid` that run. */
export function childrenOf(pid: number): Child[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat !== null && stat.parent === pid && stat.state !== 'Z')
    .map((stat) => stat as Child)
}

/** Resolves when all of them have ended; rejects with the pids that have not. */
export async function ended(children: readonly Child[]): Promise<void> {
  const isRunning = ({ pid, startedAt }: Child): boolean => {
    const stat = statOf(pid)
    return stat !== null && stat.startedAt === startedAt && stat.state !== 'Z'
  }
  const deadline = performance.now() + endMsMax
  while (children.some(isRunning)) {
    if (performance.now() > deadline) {
      const pids = children.filter(isRunning).map(({ pid }) => pid)
      throw new Error(`children outlive their server: ${pids.join()}`)
    }
    await delay(pollMs)
  }
}

function statOf(pid: number): (Child & { state: string; parent: number }) | null {
  try {
    // The name, in parentheses, may hold anything.
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { pid, state: fields[0] ?? '', parent: Number(fields[1]), startedAt: fields[19] ?? '' }
  } catch {
    return null
  }
}
