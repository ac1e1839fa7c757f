/** Which files are mutated, and the score of each. */

export interface Mutant {
  readonly file: string
  readonly status: string
  /** Of a mutant that timed out: Stryker says here whether its loop ran far more often than without the change. */
  readonly statusReason?: string
}

/**
 * By file, the share of mutants that a test noticed, in whole percents. Mutants that cannot run do not count. An endless
 * loop is noticed. A mutant that ran out of time may only have met a busy machine: `slow` says what it counts as. A floor
 * counts it as survived, so that no later run falls below by chance.
 */
export function scoresOf(mutants: readonly Mutant[], slow: 'noticed' | 'survived'): Map<string, number> {
  const counts = new Map<string, { noticed: number; all: number }>()
  for (const { file, status, statusReason = '' } of mutants) {
    const isEndless = status === 'Timeout' && statusReason.startsWith('Hit limit reached')
    const isNoticed = status === 'Killed' || isEndless || (status === 'Timeout' && slow === 'noticed')
    if (!isNoticed && !['Timeout', 'Survived', 'NoCoverage'].includes(status)) continue
    const count = counts.get(file) ?? { noticed: 0, all: 0 }
    counts.set(file, { noticed: count.noticed + Number(isNoticed), all: count.all + 1 })
  }
  return new Map([...counts].map(([file, { noticed, all }]) => [file, Math.floor((100 * noticed) / all)]))
}

/** One line for each file whose score fell below its floor, or that has a score and no floor. */
export function problemsOf(
  scores: ReadonlyMap<string, number>,
  floors: Readonly<Record<string, number>>,
): string[] {
  return [...scores].flatMap(([file, score]) => {
    const floor = floors[file]
    if (floor === undefined) return [`${file} has no floor: measure it with --record`]
    if (score >= floor) return []
    return [`${file} fell from ${floor} to ${score} %: test what survived, or lower its floor`]
  })
}

/** From the `start`-th file on, as many as `linesMax` allows, and at least one. */
export function chooseFiles(
  files: readonly { readonly file: string; readonly lines: number }[],
  start: number,
  linesMax: number,
): string[] {
  const chosen: string[] = []
  let lines = 0
  for (let index = 0; index < files.length; index++) {
    const next = files[(start + index) % files.length]!
    if (chosen.length > 0 && lines + next.lines > linesMax) break
    chosen.push(next.file)
    lines += next.lines
  }
  return chosen
}
