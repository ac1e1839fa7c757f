/**
 * Releases what some work has used. A `finally` block that fails replaces the error of the work, which was the first one and
 * often the cause.
 */

/**
 * Runs `work`, then `release`, whether or not the work succeeds. Rejects with the error of the work; with that of the release
 * only if the work has succeeded.
 */
export async function withRelease<Result>(
  work: () => Result | Promise<Result>,
  release: () => unknown,
): Promise<Result> {
  let result: Result
  try {
    result = await work()
  } catch (error) {
    await ignoringErrors(release)
    throw error
  }
  await release()
  return result
}

/** Runs a release after an error, which is the one to report. */
export async function ignoringErrors(release: () => unknown): Promise<void> {
  try {
    await release()
  } catch {
    // It is not the first error.
  }
}
