/**
 * Batches of zeros that new heads run before they serve. The heads must be shares for them too.
 */
import { GraphError, ModelError, ModelRowError } from '../model.js'
import type { HeadRows, Matrices } from './batches.js'
import { matrixNames } from './head-ports.js'
import { clampHeads } from './head-shares.js'
import { hiddenBatchText } from './hidden-batch.js'
import { isOutOfMemory } from './onnx-errors.js'
import type { HeadsPlan } from './plans.js'

/** One row, a few, and enough for all threads. */
const counts = { one: 1, few: 3, many: 256 } as const

/** Rejects with the error of `run`, or with a `ModelError` that names the cause where a batch has shown it. */
export async function warmUpHeads(
  run: (rows: HeadRows) => Promise<Float32Array[]>,
  { heads, graphs }: Pick<HeadsPlan, 'heads' | 'graphs'>,
): Promise<void> {
  const declaresAnyNumber = graphs.some(({ batch }) => batch === undefined)
  for (const count of Object.values(counts)) {
    const columns = await run({ count, fill: fillZeros }).catch((error: unknown) => {
      const isHiddenBatch =
        count === counts.few && declaresAnyNumber && error instanceof GraphError && !isOutOfMemory(error)
      throw isHiddenBatch ? new ModelError(hiddenBatchText('row', error), { cause: error }) : error
    })
    try {
      clampHeads(heads, columns)
    } catch (cause) {
      if (!(cause instanceof ModelRowError) || !Number.isNaN(columns[0]?.[0] ?? 0)) throw cause
      throw new ModelError(`NaN on zeros: in a row whose inputs are all 0, ${cause.message}`, { cause })
    }
  }
}

function fillZeros(matrices: Matrices): void {
  for (const name of matrixNames) matrices[name].fill(0)
}
