/**
 * Mutation tests of the folders of rooms.ts: Stryker changes each expression, and a unit test of the same folder must fail.
 * `floors.json` has the least score of each folder: a run of a whole folder fails below it. A run of some files is a report.
 *
 *   npm run test:mutants                        all files (hours)
 *   npm run test:mutants -- src/pool src/client/retry.ts
 *   npm run test:mutants -- --changed           some files that differ from the main branch; some of all without one
 *   npm run test:mutants -- --record src/pool   writes the scores of whole folders into floors.json
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { rooms, type Room } from './rooms.js'
import { chooseFiles, scoreOf, type Mutant } from './scores.js'

/** Stryker ends with an error when no test imports the files that it mutates. */
const typesAlone = ['src/contract/admin-api.ts', 'src/contract/history-api.ts']
/** Of a run of changed files, which is stopped after its time: slow tests make some mutants slow. */
const changedLinesMax = 300
const changedMsMax = 3 * 60_000
const floorsFile = 'test/mutation/floors.json'
const reportFile = 'build/mutants.json'

interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly Omit<Mutant, 'file'>[] }>>
}

const startedAtMs = Date.now()
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { changed: { type: 'boolean' }, record: { type: 'boolean' } },
})
const allFiles = rooms
  .flatMap((room) => room.files.flatMap((pattern) => globSync(pattern)))
  .filter((file) => !file.endsWith('.test.ts') && !file.endsWith('/index.ts'))
  .filter((file) => !typesAlone.includes(file))
  // The document has tests of its own in test/openapi.test.ts.
  .filter((file) => !file.startsWith('src/contract/openapi/'))
  .sort()
const files = allFiles.filter(
  (file) => positionals.length === 0 || positionals.some((start) => file.startsWith(start)),
)
const chosen = values.changed === true ? someChanged() : files
const floors = JSON.parse(readFileSync(floorsFile, 'utf8')) as Record<string, number>

const slow = values.record === true ? 'survived' : 'noticed'
for (const room of rooms) {
  const { name } = room
  const inRoom = (file: string): boolean => file.startsWith(`src/${name}/`)
  const mutated = chosen.filter(inRoom)
  if (mutated.length === 0) continue
  const mutants = mutate(room, mutated)
  for (const file of mutated)
    console.log(
      `${file}: ${
        scoreOf(
          mutants.filter((mutant) => mutant.file === file),
          slow,
        ) ?? '-'
      } %`,
    )
  const score = scoreOf(mutants, slow)
  const floor = floors[name] ?? 0
  console.log(`src/${name}: ${score ?? '-'} % (floor of the whole folder: ${floor})`)
  if (score === null || mutated.length < allFiles.filter(inRoom).length) continue
  if (values.record === true) floors[name] = score
  else if (score < floor) {
    console.error(
      `mutants: src/${name} fell from ${floor} to ${score} %: test what survived, or lower its floor`,
    )
    process.exitCode = 1
  }
}
if (values.record === true) writeFileSync(floorsFile, `${JSON.stringify(floors, null, 2)}\n`)

/** The mutants of the files. Stryker prints what survived. */
function mutate({ name, tests }: Room, mutated: readonly string[]): Mutant[] {
  const { status, error } = spawnSync('stryker', ['run', 'test/mutation/stryker.config.mjs'], {
    stdio: 'inherit',
    env: {
      ...process.env,
      MUTATED_ROOM: name,
      MUTATED_FILES: mutated.join(','),
      MUTANT_TESTS: JSON.stringify(tests),
      MUTANT_REPORT: reportFile,
    },
    ...(values.changed === true && { timeout: Math.max(1, startedAtMs + changedMsMax - Date.now()) }),
  })
  if (error !== undefined && 'code' in error && error.code === 'ETIMEDOUT') {
    console.log(`mutants: not measured in time: ${mutated.join(', ')}`)
    return []
  }
  if (status !== 0) throw new Error(`Stryker ended with ${status}`, { cause: error })
  const report = JSON.parse(readFileSync(reportFile, 'utf8')) as Report
  return mutated.flatMap((file) => (report.files[file]?.mutants ?? []).map((mutant) => ({ file, ...mutant })))
}

/** Another part for each commit, when not all fit. */
function someChanged(): string[] {
  const commit = Number.parseInt(git('rev-parse', '--short=6', 'HEAD') || '0', 16)
  const fork = git('merge-base', 'HEAD', 'origin/main')
  // On the main branch itself, the last commit is what has changed.
  const base = fork === '' || fork === git('rev-parse', 'HEAD') ? git('rev-parse', 'HEAD~1') : fork
  const changed = new Set(base === '' ? files : git('diff', '--name-only', base).split('\n'))
  const lineCounts = files
    .filter((file) => changed.has(file))
    .map((file) => ({ file, lines: readFileSync(file, 'utf8').split('\n').length }))
  return chooseFiles(lineCounts, commit, changedLinesMax)
}

/** Empty without a repository, and for a commit that a shallow clone does not have. */
function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return ''
  }
}
