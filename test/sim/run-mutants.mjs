/**
 * `npm run test:sim:mutants`: shows that the simulation finds bugs. Applies each mutant of mutants.ts and runs seeds
 * from 1 on until one fails. Prints the seed and the failure; exits 1 when a mutant survives SIM_SEEDS seeds (2,000).
 * The first argument, if any, names the only mutant to run.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { mutants } from './mutants.ts'

const seeds = process.env.SIM_SEEDS ?? '2000'
/** A mutant that loops without end counts as a survivor. */
const msMax = 600_000
const only = process.argv[2]
let survivors = 0
for (const { name, breaks } of mutants.filter((mutant) => only === undefined || mutant.name === only)) {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', './test/sim/sources.mjs', fileURLToPath(new URL('run.ts', import.meta.url))],
    {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      env: { ...process.env, SIM_MUTANT: name, SIM_SEEDS: seeds, SIM_PROCESSES: '1' },
      encoding: 'utf8',
      timeout: msMax,
    },
  )
  const found = /seed (\d+), step (\d+): (.*)/.exec(stderr)
  if (found === null) {
    survivors++
    console.log(`${name}: NOT FOUND in ${seeds} seeds\n${stdout}${stderr}`)
  } else console.log(`${name} (${breaks}): seed ${found[1]}, step ${found[2]}: ${found[3]}`)
}
console.log(`${survivors} of ${only === undefined ? mutants.length : 1} survive`)
process.exitCode = survivors === 0 ? 0 : 1
