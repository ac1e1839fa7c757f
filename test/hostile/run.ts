/**
 * `npm run test:hostile`: the siege in full, then the fuzz. Prints figures; ends with 1 where a promise is broken.
 */
import { fuzzHttp } from './fuzz.js'
import { besiege } from './siege.js'
import { Target } from './target.js'

/** What health may take for others, while the siege goes on. */
const healthP99MsMax = 50

const print = (line: string): void => console.log(line)
const siege = await besiege(
  {
    ...{ slow: 1000, slowSecondsMax: 40, aborted: 2000, endless: 16, pipelines: 20, pipelined: 1000 },
    ...{ wrongKeys: 300, secondsMin: 3, heavy: true },
  },
  print,
)
const fuzzSeconds = Number(process.env.HOSTILE_FUZZ_SECONDS ?? 60)
const target = await new Target({ UNDERSTUDY_WRONG_KEYS_PER_MINUTE_MAX: '1000000' }).start()
const fuzzBreaches: string[] = []
try {
  const before = target.held()
  const tried = await fuzzHttp(target, { seconds: fuzzSeconds, runs: 100_000_000 }).catch(
    (error: unknown) => {
      fuzzBreaches.push(String(error))
      return 0
    },
  )
  if (!(await target.descriptorsFallTo(before.descriptors + 3))) fuzzBreaches.push('fuzz: descriptors leak')
  if (/"status":500|"level":50/.test(target.server.log)) fuzzBreaches.push('fuzz: the log has an error')
  const after = target.held()
  print(
    `fuzz: ${tried} requests in ${fuzzSeconds} s; descriptors ${before.descriptors} before, ${after.descriptors} after; memory ${before.rssMib.toFixed(0)} MiB before, ${after.rssMib.toFixed(0)} after`,
  )
} finally {
  await target.dispose()
}
const late = [...siege.health].filter(([, { p99Ms }]) => p99Ms > healthP99MsMax)
const breaches = [
  ...siege.breaches,
  ...fuzzBreaches,
  ...late.map(([name, { p99Ms }]) => `${name}: health p99 ${p99Ms.toFixed(1)} ms`),
]
for (const breach of breaches) print(`BREACH ${breach}`)
print(breaches.length === 0 ? 'no breach' : `${breaches.length} breaches`)
process.exitCode = breaches.length === 0 ? 0 : 1
