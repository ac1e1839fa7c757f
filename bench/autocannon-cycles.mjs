// New cycles under load with autocannon, then repeats of the last one and health; `--help` says how it is called. The first
// request adds the posts; each later one has the next five-minute boundary and a reading of every post, so each is scored.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import autocannon from 'autocannon'

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8080' },
    'key-file': { type: 'string', default: 'data/api-key' },
    posts: { type: 'string', default: '5000' },
    connections: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '10' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) {
  console.log(`Usage: node bench/autocannon-cycles.mjs [OPTION]…

Sends new cycles, then repeats of the last one, then GET /v1/health, and prints the rate and latency of each. Give it a server
of its own: its cycles stay there, after the last one that the server has.

  --url URL          address of the service (http://127.0.0.1:8080)
  --key-file FILE    file with the API key (data/api-key)
  --posts N          posts in each cycle, at most 5000 (5000)
  --connections N    connections at the same time (1)
  --seconds N        duration of each of the three parts (10)`)
  process.exit(0)
}
const url = `${values.url}/v1/cycles`
const headers = {
  authorization: readFileSync(values['key-file'], 'utf8').trim(),
  'content-type': 'application/json',
}
const boundaryMs = 300_000
const kst = (ms) => `${new Date(ms + 9 * 3_600_000).toISOString().slice(0, 19)}+09:00`

/** Time of the last cycle that was sent. */
let atMs = await lastCycleMs()
const posts = Array.from({ length: Number(values.posts) }, (_, index) => index + 1)
const keys = posts.map((post) => `{"gall_id":"bench","post_no":${post},`)

/** The body of the next cycle; only times differ between cycles, so that the client has little to do. */
const rows = keys.map(
  (key, index) =>
    `${key}"observed_at":"TIME","status":"ok","views":${(index * 37) % 9000},"up":${index % 90},"down":${index % 7},` +
    `"comment_cnt":${index % 50},"rtb_vote":${index % 20}}`,
)
const readings = rows.join()
function nextBody(candidates = '') {
  atMs += boundaryMs
  const time = kst(atMs)
  const id = time.slice(0, 16).replaceAll(/[-:]/g, '')
  return (
    `{"cycle_id":"${id}","cycle_time":"${time}","candidates":[${candidates}],` +
    `"engagement":[${readings.replaceAll('TIME', kst(atMs - 30_000))}],"candidate_scores":[],"removals":[]}`
  )
}

/** Of a server without cycles: some weeks ago, since no cycle may be in the future. */
async function lastCycleMs() {
  const health = await (await globalThis.fetch(`${values.url}/v1/health`)).json()
  const [, date, hour, minute] = /^(\d{8})T(\d\d)(\d\d)$/.exec(health.last_cycle_id ?? '') ?? []
  if (date === undefined) return Math.floor(Date.now() / boundaryMs - 10_000) * boundaryMs
  return Date.parse(`${date.replace(/(....)(..)(..)/, '$1-$2-$3')}T${hour}:${minute}:00+09:00`)
}

const created = kst(atMs)
const entering = keys.map(
  (key, index) =>
    `${key}"title":"제목 ${index}","created_at":"${created}","extracted_at":"${created}","source":"score",` +
    '"manual_flag":0,"images_in_post":0}',
)
const first = await globalThis.fetch(url, { method: 'POST', headers, body: nextBody(entering.join()) })
if (!first.ok) throw new Error(`the first cycle: ${first.status} ${await first.text()}`)
const { counts } = await first.json()

/** Prints the figures of a load on one path. */
async function measure(name, path, load) {
  const options = { connections: Number(values.connections), duration: Number(values.seconds), headers }
  const {
    '2xx': accepted,
    non2xx,
    requests,
    latency,
  } = await autocannon({
    ...options,
    ...load,
    url: values.url + path,
  })
  console.log(
    `${name}: ${accepted} accepted, ${non2xx} refused, ${requests.average} per second, ` +
      `p50 ${latency.p50} ms, p99 ${latency.p99} ms`,
  )
}

let body = ''
await measure(`new cycles, ${counts.scored_now} posts scored`, '/v1/cycles', {
  method: 'POST',
  requests: [{ setupRequest: (request) => ({ ...request, body: (body = nextBody()) }) }],
})
// The last body may not have been answered, so it may be new once.
await measure('repeats of the last one', '/v1/cycles', { method: 'POST', body })
await measure('health', '/v1/health', {})
