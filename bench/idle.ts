/**
 * Waits until this process is idle: V8 collects garbage and compiles in background threads, which continue after the work
 * and would take a core from the server.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** Short, because after 10 ms of idleness a server took a sixth longer for a small cycle. */
const pauseMs = 1
/** Not zero, because waiting takes CPU time too. */
const idleCpuShareMax = 0.15
/** The busy share shows a process that is never idle. */
const waitMsMax = 200

/** Resolves when no thread of this process uses the CPU, or after `waitMsMax`. */
export async function untilIdle(): Promise<void> {
  const deadline = performance.now() + waitMsMax
  for (;;) {
    const cpu = process.cpuUsage()
    const startedAt = performance.now()
    await sleep(pauseMs)
    const { user, system } = process.cpuUsage(cpu)
    const now = performance.now()
    if ((user + system) / 1000 < idleCpuShareMax * (now - startedAt) || now > deadline) return
  }
}
