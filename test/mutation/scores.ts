/** Which files are mutated, and the share of mutants that tests notice. */

export interface Mutant {
  readonly file: string
  readonly status: string
  /** Of a mutant that timed out: Stryker says here whether its loop ran far more often than without the change. */
  readonly statusReason?: string
}

/**
 * The share of mutants that a test noticed, in whole percents; null without any. Mutants that cannot run do not count. An endless
 * loop is noticed. A mutant that ran out of time may only have met a busy machine: `slow` says what it counts as. A floor
 * counts it as survived, so that no later run falls below by chance.
 */
export function scoreOf(mutants: readonly Mutant[], slow: 'noticed' | 'survived'): number | null {
  const isNoticed = ({ status, statusReason = '' }: Mutant): boolean =>
    status === 'Killed' ||
    (status === 'Timeout' && (slow === 'noticed' || statusReason.startsWith('Hit limit reached')))
  const ran = mutants.filter(({ status }) => ['Killed', 'Timeout', 'Survived', 'NoCoverage'].includes(status))
  return ran.length === 0 ? null : Math.floor((100 * ran.filter(isNoticed).length) / ran.length)
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
