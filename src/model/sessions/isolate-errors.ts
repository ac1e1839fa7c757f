/**
 * Finds the items of a batch that make it fail, so that one item costs the others nothing: a batch that fails is divided,
 * down to single items. A failure may end a process, so a batch is divided into many parts at once: of 5,000 items, one
 * that always fails does so in three batches after the first one.
 */

/** Batches of at most so many items are divided into single ones; larger ones into about as many parts as a part has items. */
const itemsMax = 100

export interface IsolationParts<Item> {
  /** Runs some of the items. Rejects when they fail. */
  readonly run: (items: readonly Item[]) => Promise<unknown>
  /**
   * Called after a failure, with the items that may be the cause. Rejects if none is, such as when a control item fails too,
   * and if no more items can be run.
   */
  readonly control: (items: readonly Item[], error: unknown) => Promise<unknown>
  /** Called for each item that has failed twice on its own: the first failure may have had another cause. */
  readonly onError: (item: Item, error: unknown) => void
  /** Stops the search, but never before one item is run or known to fail: otherwise nothing would ever progress. */
  readonly isLate: () => boolean
}

/** Rejects when `control` does. Items that were not reached in time are neither run nor reported. */
export async function isolateErrors<Item>(
  batches: readonly (readonly Item[])[],
  { run, control, onError, isLate }: IsolationParts<Item>,
): Promise<void> {
  const waiting = [...batches]
  let isSettled = false
  for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
    if (isSettled && isLate()) return
    const items = batch
    const error = await errorOf(() => run(items))
    if (error !== null) await control(items, error)
    if (error !== null && items.length > 1) {
      waiting.unshift(...partsOf(items))
      continue
    }
    isSettled = true
    const again = error === null ? null : await errorOf(() => run(items))
    if (again === null) continue
    onError(items[0] as Item, again)
    await control([], again)
  }
}

/** The parts in which a batch that fails is tried again. */
export function partsOf<Item>(items: readonly Item[]): (readonly Item[])[] {
  return slices(items, items.length <= itemsMax ? 1 : Math.ceil(Math.sqrt(items.length)))
}

export function slices<Item>(items: readonly Item[], countMax: number): (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / countMax) }, (_, index) =>
    items.slice(index * countMax, (index + 1) * countMax),
  )
}

/** What `run` rejects with; null if it succeeds. */
async function errorOf(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run()
    return null
  } catch (error) {
    return error ?? new Error('unknown error')
  }
}
