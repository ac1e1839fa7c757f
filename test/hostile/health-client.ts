/**
 * A client in a separate process, so that the attack does not slow it down: it requests health at a constant rate and
 * returns the durations at the end. `watchHealth` forks it, sends the port, and later the message to stop.
 */
import { Agent } from 'node:http'
import { constants, setPriority } from 'node:os'
import { send } from '../harness/http.js'

const everyMs = 20
const responseMsMax = 10_000

try {
  // Its parent is an attacker, which may have lowered its priority: see `lowerPriority`.
  setPriority(constants.priority.PRIORITY_NORMAL)
} catch {
  // Without permission to raise it: the priority was not lowered either.
}

process.once('message', (port: number) => {
  const agent = new Agent({ keepAlive: true })
  const samplesMs: number[] = []
  let failureCount = 0
  let open = 0
  const requestHealth = (): void => {
    open++
    const signal = AbortSignal.timeout(responseMsMax)
    void send({ port, path: '/v1/health', agent, signal })
      .then(({ status, tookMs }) => {
        if (samplesMs.length === 0) process.send?.('ready')
        if (status === 200) samplesMs.push(tookMs)
        else failureCount++
      })
      .catch(() => failureCount++)
      .finally(() => open--)
  }
  const timer = setInterval(requestHealth, everyMs)
  process.once('message', () => {
    clearInterval(timer)
    const end = (): void => {
      if (open > 0) {
        setTimeout(end, 5)
        return
      }
      process.send?.({ samplesMs, failureCount })
      process.disconnect()
    }
    end()
  })
})
