/**
 * Members of a body that the contract does not define: accepted, and named in the warnings.
 */
import { clipText } from '../base/index.js'
import { cycleShape, rowShape } from '../contract/index.js'

export const rowLists = ['candidates', 'engagement', 'candidate_scores', 'removals'] as const

/** The parts of a body that are or have rows, in the order in which their unknown members are named: the body itself, its lists. */
const parts = [
  { prefix: '', known: new Set(cycleShape.members.map(({ name }) => name)) },
  ...rowLists.map((list) => ({
    prefix: `${list}[].`,
    known: new Set(rowShape(cycleShape, list).members.map(({ name }) => name)),
  })),
]

/** Longest part of an unknown name that a warning repeats. */
const nameCharsMax = 200
/** More than a response lists; a body with millions of distinct names must not fill the memory. */
const nameCountMax = 100

/** Distinct names, such as `candidates[].mood`. `rowsOfParts`: the rows of each part; what the contract defines may be missing. */
export function unknownFields(rowsOfParts: readonly (readonly object[])[]): string[] {
  const names = new Set<string>()
  for (const [index, { prefix, known }] of parts.entries())
    for (const row of rowsOfParts[index] ?? [])
      for (const name of Object.keys(row))
        if (!known.has(name) && names.size < nameCountMax) names.add(prefix + clipText(name, nameCharsMax))
  return [...names]
}
