/** Runs the checks of a lane one after the other, and prints one line for each. */

/** Runs a check. A rejection is a violation, and its message is printed; so is a text that the work returns. */
export type Check = (sentence: string, work: () => unknown) => Promise<void>

export interface Checks {
  readonly check: Check
  readonly violationCount: () => number
}

export function startChecks(print: (line: string) => void): Checks {
  let violations = 0
  const check: Check = async (sentence, work) => {
    const startedAt = performance.now()
    try {
      const found = await work()
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      print(`ok        ${sentence}${typeof found === 'string' ? `: ${found}` : ''} (${seconds} s)`)
    } catch (error) {
      violations++
      print(`VIOLATION ${sentence}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return { check, violationCount: () => violations }
}
