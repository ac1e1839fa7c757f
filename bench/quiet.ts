/**
 * Silence before a call: V8 collects garbage and compiles in threads of its own, which go on when the work is done, and
 * would take a core from the server.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** Not longer than it must be: after 10 ms of rest, a server took a sixth longer for a small cycle. */
const stillMs = 1
/** Waiting itself takes some. */
const stillCpuShareMax = 0.15
/** A process that never rests is told by its busy share. */
const waitMsMax = 200

/** Resolves when no thread of this process computes any more. */
export async function quiet(): Promise<void> {
  const giveUpAt = performance.now() + waitMsMax
  for (;;) {
    const cpu = process.cpuUsage()
    const startedAt = performance.now()
    await sleep(stillMs)
    const { user, system } = process.cpuUsage(cpu)
    const now = performance.now()
    if ((user + system) / 1000 < stillCpuShareMax * (now - startedAt) || now > giveUpAt) return
  }
}
