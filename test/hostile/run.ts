/**
 * `npm run test:hostile`: all attacks, then fuzzing of requests and of images. Prints figures; exits with 1 if a
 * guarantee is violated.
 */
import { fuzzHttp } from './fuzz.js'
import { fuzzImages } from './image-fuzz.js'
import { runAttacks, rssGrowthMibMax } from './attacks.js'
import { ServerProcess } from '../harness/server.js'

/** Limit of the latency of health for other clients during the attacks. */
const healthP99MsMax = 100
/** uWebSockets.js handles all requests that have arrived on a connection in one turn of the event loop: here 20,000 at once. */
const pipeliningP99MsMax = 500

/** Names of attacks, separated by commas: runs only these, and no fuzzing. */
const only = process.env.HOSTILE_ATTACKS?.split(',')

const print = (line: string): void => console.log(line)
const attacks = await runAttacks(
  {
    slow: 1000,
    slowSecondsMax: 40,
    aborted: 2000,
    endless: 16,
    pipelines: 20,
    pipelined: 1000,
    wrongKeys: 300,
    secondsMin: 3,
    heavy: true,
    ...(only === undefined ? {} : { only }),
  },
  print,
)
const fuzzSeconds = Number(process.env.HOSTILE_FUZZ_SECONDS ?? 60)
const imageCount = Number(process.env.HOSTILE_IMAGES ?? 5000)
const imageSeed = Number(process.env.HOSTILE_IMAGE_SEED ?? 1)

/** Fuzzes a server of its own. Returns the violations; prints the descriptors and memory before and after. */
async function fuzz(name: string, run: (server: ServerProcess) => Promise<string>): Promise<string[]> {
  const violations: string[] = []
  const server = await new ServerProcess({}, { preloads: ['loopDelay'] }).start()
  try {
    const before = server.resources()
    const startedAt = performance.now()
    const figure = await run(server).catch((error: unknown) => {
      violations.push(`${name}: ${String(error)}`)
      return 'aborted'
    })
    const seconds = (performance.now() - startedAt) / 1000
    if (!(await server.waitForDescriptors(before.descriptors + 3)))
      violations.push(`${name}: descriptors leak`)
    if (/"status":500|"level":50/.test(server.log)) violations.push(`${name}: the log has an error`)
    const after = server.resources()
    if (after.rssPeakMib > before.rssMib + rssGrowthMibMax) violations.push(`${name}: memory grows`)
    print(
      [
        `${name}: ${figure} in ${seconds.toFixed(0)} s`,
        `descriptors ${before.descriptors} before, ${after.descriptors} after`,
        `memory ${before.rssMib.toFixed(0)} MiB before, ${after.rssMib.toFixed(0)} after, ${after.privateMib.toFixed(0)} of it without pages of files, ${after.rssPeakMib.toFixed(0)} at most`,
      ].join('; '),
    )
  } finally {
    await server.dispose()
  }
  return violations
}

const fuzzViolations =
  only !== undefined
    ? []
    : [
        ...(await fuzz('requests', async (server) => {
          const tried = await fuzzHttp(server, { seconds: fuzzSeconds, runs: 100_000_000 })
          return `${tried} requests`
        })),
        ...(await fuzz('images', async (server) => {
          const { violations, tried, statuses, slowestMs } = await fuzzImages(server, imageCount, imageSeed)
          if (violations.length > 0) throw new Error(violations.join('; '))
          const responses = [...statuses]
            .sort(([a], [b]) => a - b)
            .map(([status, count]) => `${count} × ${status || 'cut'}`)
          return `${tried} mutated JPEGs, ${responses.join(', ')}, the slowest after ${slowestMs.toFixed(0)} ms`
        })),
      ]
const late = [...attacks.health].filter(
  ([name, { p99Ms }]) => p99Ms > (name === 'pipelining' ? pipeliningP99MsMax : healthP99MsMax),
)
const violations = [
  ...attacks.violations,
  ...fuzzViolations,
  ...late.map(([name, { p99Ms }]) => `${name}: health p99 ${p99Ms.toFixed(1)} ms`),
]
for (const violation of violations) print(`VIOLATION ${violation}`)
print(violations.length === 0 ? 'no violations' : `${violations.length} violations`)
process.exitCode = violations.length === 0 ? 0 : 1
