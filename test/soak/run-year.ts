/**
 * `npm run test:soak -- year`: YEAR_DAYS simulated days (400) with about 600 pending posts (YEAR_POSTS_PER_DAY) and default retention,
 * at most YEAR_MINUTES. Prints a line for every ten days and a table that compares days; exits with 1 if a rule is violated.
 */
import { year, type Checkpoint } from './year.js'

const numberOf = (name: string, other: number): number => Number(process.env[name] ?? other)
const sampleDays = 2
const plan = {
  seed: numberOf('YEAR_SEED', 1),
  model: 'demo-1',
  postsPerDay: numberOf('YEAR_POSTS_PER_DAY', 660),
  imageShare: numberOf('YEAR_IMAGE_SHARE', 0.05),
  keptDays: { cycles: 14, images: 7, outcomes: 90 },
  days: numberOf('YEAR_DAYS', 400),
  minutesMax: numberOf('YEAR_MINUTES', 24 * 60),
  // When nothing has expired yet, and when everything does.
  checkpointDays: [14, 98, 200, 300],
  sampleDays,
}
const startedAt = performance.now()
const minutes = (): string => ((performance.now() - startedAt) / 60_000).toFixed(1)

const { checkpoints, restoration, verdicts, counts } = await year(plan, (day, sample) => {
  if (day % 10 !== 0 && day !== sampleDays) return
  const { postP50Ms, ownMib, liveMib, fileMib } = sample
  console.log(
    `day ${day}, ${minutes()} minutes: cycle ${postP50Ms.toFixed(1)} ms, memory ${ownMib.toFixed(0)} MiB, ` +
      `records ${liveMib.toFixed(0)} MiB, file ${fileMib.toFixed(0)} MiB`,
  )
})

const rows: readonly (readonly [string, (checkpoint: Checkpoint) => string])[] = [
  ['day', ({ day }) => String(day)],
  ['cycles', ({ cycle }) => cycle.toLocaleString('en')],
  ['pending posts', ({ pending }) => String(pending)],
  ['cycle p50, ms', ({ postP50Ms }) => postP50Ms.toFixed(1)],
  ['cycle p99, ms', ({ postP99Ms }) => postP99Ms.toFixed(1)],
  ['event loop p99, ms', ({ loopP99Ms }) => loopP99Ms.toFixed(1)],
  ['memory of the server, MiB', ({ ownMib }) => ownMib.toFixed(0)],
  ['memory of the model process, MiB', ({ modelsMib }) => modelsMib.toFixed(0)],
  ['records, MiB', ({ liveMib }) => liveMib.toFixed(0)],
  ['data file, MiB', ({ fileMib }) => fileMib.toFixed(0)],
  ['start, s', ({ startS }) => startS.toFixed(2)],
  ['report, s', ({ reportS }) => reportS.toFixed(1)],
  ['verify, s', ({ verifyS }) => verifyS.toFixed(1)],
  ['backup, s', ({ backupS }) => backupS.toFixed(1)],
  ['backup, MiB', ({ backupMib }) => backupMib.toFixed(0)],
]
const nameWidth = Math.max(...rows.map(([name]) => name.length))
for (const [name, cell] of rows)
  console.log([name.padEnd(nameWidth), ...checkpoints.map((one) => cell(one).padStart(8))].join('  '))
console.log(
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
    .join(', '),
)
const { restoreS, startS, cyclesSentAgain } = restoration
console.log(
  `restored in ${restoreS.toFixed(1)} s, started in ${startS.toFixed(2)} s, ${cyclesSentAgain} cycles sent again`,
)
for (const { holds, words } of verdicts) console.log(`${holds ? 'ok    ' : 'VIOLATION'} ${words}`)
const violations = verdicts.filter(({ holds }) => !holds).length
console.log(`${violations === 0 ? 'no violations' : `${violations} violations`}, ${minutes()} minutes`)
process.exitCode = violations === 0 ? 0 : 1
