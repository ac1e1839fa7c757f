// client.js: runs as a service.
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, Client } from 'understudy-client'
import { Spool } from 'understudy-client/spool'
import * as queue from './queue.js'

const missing = ['SCORING_URL', 'SCORING_KEY'].filter((name) => !process.env[name])
if (missing.length > 0) {
  console.error(`client.js needs ${missing.join(' and ')} in the environment`)
  process.exit(1)
}

const stop = new AbortController()
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stop.abort())
const { signal } = stop

const client = new Client({ url: process.env.SCORING_URL, apiKey: process.env.SCORING_KEY })
const directory = process.env.SPOOL_DIRECTORY ?? 'spool'
const spool = await Spool.open({
  client,
  directory,
  onResponse: queue.storeScores,
  onRejected: (cycleId, error) => queue.takeBack(cycleId, `${directory}/${cycleId}.json`, error),
})

/** Why the service refuses an image for good; null if it has stored it. Other failures are temporary, and thrown. */
const send = ({ jpeg, ...key }) =>
  client.putImage(key, jpeg, { signal }).then(
    () => null,
    (error) => {
      const isRefusal = error instanceof ApiError && error.status < 500 && error.kind !== 'unauthorized'
      // A TypeError: no path can have this key.
      if (!isRefusal && !(error instanceof TypeError)) throw error
      return error.message
    },
  )

async function addCycle(due) {
  const cycle_id = new Date(due + 9 * 3_600_000).toISOString().replace(/[-:]/g, '').slice(0, 13)
  const cycle_time = new Date(due).toISOString()
  // The clock was set back, and this cycle has been sent.
  if (queue.hasResponse(cycle_id)) return
  const cycle = { cycle_id, cycle_time, ...queue.changes(cycle_time) }
  await spool.add(cycle)
  queue.mark(cycle)
}

/** The spool keeps cycles without a response: the next call sends them again, before its own cycle. */
async function deliver() {
  try {
    await spool.deliver({ signal })
  } catch (error) {
    // A refusal concerns one cycle, and images need not wait for it; without a service they must.
    if (!(error instanceof ApiError) || error.kind === 'unavailable') throw error
    report(error)
  }
  for (const image of queue.images()) queue.markImage(image, await send(image))
}

const report = (error) => signal.aborted || console.error(error.message)
const fiveMinutes = 5 * 60_000
let due = 0
while (!signal.aborted) {
  const boundary = Math.ceil(Date.now() / fiveMinutes) * fiveMinutes
  const following = boundary === due ? due + fiveMinutes : boundary
  // Not longer than a second: the clock may be set meanwhile.
  const waitMs = Math.min(1000, Math.max(0, following - Date.now()))
  await sleep(waitMs, undefined, { signal }).catch(() => undefined)
  if (signal.aborted || Date.now() < following) continue
  due = following
  await addCycle(due).catch(report)
  await deliver().catch(report)
}
