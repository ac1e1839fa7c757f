/** Which files are mutated, and the score of each. */

export interface Mutant {
  readonly file: string
  readonly status: string
}

const counted = ['Killed', 'Timeout', 'Survived', 'NoCoverage']

/**
 * By file, the share of mutants that a test noticed, in whole percents. Mutants that cannot run do not count. A busy
 * machine makes any mutant time out: `timeouts` says whether that counts as noticed. A floor is measured without them, so
 * that no later run falls below it by chance.
 */
export function scoresOf(mutants: readonly Mutant[], timeouts: 'noticed' | 'survived'): Map<string, number> {
  const counts = new Map<string, { noticed: number; all: number }>()
  for (const { file, status } of mutants) {
    if (!counted.includes(status)) continue
    const isNoticed = status === 'Killed' || (status === 'Timeout' && timeouts === 'noticed')
    const count = counts.get(file) ?? { noticed: 0, all: 0 }
    counts.set(file, { noticed: count.noticed + Number(isNoticed), all: count.all + 1 })
  }
  return new Map([...counts].map(([file, { noticed, all }]) => [file, Math.floor((100 * noticed) / all)]))
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
    const next = files[(start + index) % files.length] as (typeof files)[number]
    if (chosen.length > 0 && lines + next.lines > linesMax) break
    chosen.push(next.file)
    lines += next.lines
  }
  return chosen
}
