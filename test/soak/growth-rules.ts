/**
 * What may grow over a year: nothing, from the day on which all records have begun to expire, but the list of cycle ids, and the
 * free part of the file up to a limit. Times are printed and not judged, since they depend on what else the machine does.
 */
import type { KeptDays } from './expected-records.js'
import type { Verdict } from './rules.js'
import type { Checkpoint } from './year.js'

/** Shares by which memory, and the pages with records, may grow. */
const memoryGrowthMax = 0.1
const recordsGrowthMax = 0.05
/** The file over its pages with records. A large record needs a range of pages, so free pages remain between the records. */
const fileShareMax = 1.5
/** Below this many MiB, growth is the noise of a garbage collector. */
const memoryNoiseMib = 16
/** Days after the first expiry, until freed pages are reused as fast as they are freed. */
const settlingDays = 7
/** An id that is never used again, with its keys: bytes in the file, and in the memory of the server. */
const cycleIdBytes = 200
const mebibyte = 1024 * 1024

/** Compares the last checkpoint with the first one at which retention is in force. */
export function growthRules(checkpoints: readonly Checkpoint[], keptDays: KeptDays): Verdict[] {
  const inForceDay = Math.max(keptDays.cycles, keptDays.images, keptDays.outcomes) + settlingDays
  const first = checkpoints.find(({ day }) => day >= inForceDay)
  const last = checkpoints.at(-1)
  if (first === undefined || last === undefined || first === last) return []
  const idsMib = ((last.cycle - first.cycle) * cycleIdBytes) / mebibyte
  const level = (name: keyof Checkpoint, what: string, part: number, noise: number): Verdict => {
    const [before, after] = [first[name], last[name]]
    return {
      holds: after <= Math.max(before * (1 + part), before + noise) + idsMib,
      words:
        `${what}: ${after.toFixed(1)} on day ${last.day}, ${before.toFixed(1)} on day ${first.day}; at most ` +
        `${(100 * part).toFixed(0)} % or ${noise} more, and ${idsMib.toFixed(1)} MiB for ids of cycles`,
    }
  }
  return [
    level('ownMib', 'memory of the server, MiB', memoryGrowthMax, memoryNoiseMib),
    level('modelsMib', 'memory of the model process, MiB', memoryGrowthMax, memoryNoiseMib),
    level('liveMib', 'pages with records, MiB', recordsGrowthMax, 1),
    level('backupMib', 'backup, MiB', recordsGrowthMax, 1),
    {
      holds: last.fileMib <= fileShareMax * last.liveMib,
      words:
        `data file, MiB: ${last.fileMib.toFixed(1)} on day ${last.day}, for ${last.liveMib.toFixed(1)} MiB of pages with records; ` +
        `at most ${fileShareMax} times as much`,
    },
    { ...level('descriptors', 'descriptors', 0, 0), holds: last.descriptors <= first.descriptors },
  ]
}
