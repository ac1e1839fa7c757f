/**
 * `npm run test:sim:planted`: does the simulation find bugs? Plants each of plants.mjs and runs seeds from 1 on until
 * one fails. Prints the seed and what was broken; exits 1 when a bug stays hidden for SIM_SEEDS seeds (2,000).
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { plants } from './plants.mjs'

const seeds = process.env.SIM_SEEDS ?? '2000'
/** A bug that makes the service go around in circles is not found by waiting for it. */
const msMax = 600_000
const only = process.argv[2]
let hidden = 0
for (const { name, breaks } of plants.filter((plant) => only === undefined || plant.name === only)) {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', './test/sim/sources.mjs', fileURLToPath(new URL('run.ts', import.meta.url))],
    {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      env: { ...process.env, SIM_PLANT: name, SIM_SEEDS: seeds, SIM_PROCESSES: '1' },
      encoding: 'utf8',
      timeout: msMax,
    },
  )
  const found = /seed (\d+), step (\d+): (.*)/.exec(stderr)
  if (found === null) {
    hidden++
    console.log(`${name}: NOT FOUND in ${seeds} seeds\n${stdout}${stderr}`)
  } else console.log(`${name} (${breaks}): seed ${found[1]}, step ${found[2]}: ${found[3]}`)
}
console.log(`${hidden} of ${only === undefined ? plants.length : 1} stay hidden`)
process.exitCode = hidden === 0 ? 0 : 1
