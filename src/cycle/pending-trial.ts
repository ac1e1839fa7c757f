/**
 * Tries a model on the pending posts before it takes over: it may pass every check and fail on posts of one age.
 */
import { cycleBoundaryMs, statusOk } from '../contract/index.js'
import { ModelError, type Model } from '../model/index.js'
import type { PoolInputs, PoolState } from '../pool/index.js'
import type { Embeddings } from './embeddings/index.js'
import type { ImageCounts } from './image-counts.js'
import { placedFailure } from './model-failures.js'

export interface TrialParts {
  readonly embeddings: Embeddings
  readonly images: ImageCounts
}

/** Scores the posts at the time of the last cycle and of the next one. Rejects with a `ModelError` that names the post. */
export async function tryOnPending(
  model: Model,
  state: PoolState,
  { embeddings, images }: TrialParts,
): Promise<void> {
  const imagesStored = images.column(state.galleries, state.gallery, state.postNo)
  const scoring = pendingInputs(state)
  for (const cycleAtMs of [scoring.cycleAtMs, scoring.cycleAtMs + cycleBoundaryMs]) {
    if (scoring.count === 0) return
    // Read for each batch: while the first one is scored, other posts may take the places of these in the vectors.
    const inputs = { ...embeddings.inputs(model, state, imagesStored), imagesStored }
    await model.predict({ ...scoring, ...inputs, cycleAtMs }).catch((error: unknown) => {
      if (!(error instanceof ModelError)) throw error
      throw placedFailure(error, {
        version: model.version,
        what: 'the pending posts',
        plan: { scoring, next: state },
      })
    })
  }
}

/** The posts with a reading, scored with their latest one. */
function pendingInputs(state: PoolState): PoolInputs {
  const { count, galleries, gallery, postNo, posts, latest, previous, snapshot, newestCycleMs } = state
  const slots = Uint32Array.from(
    Array.from({ length: count }, (_, slot) => slot).filter(
      (slot) => !Number.isNaN(latest.observedAtMs[slot]),
    ),
  )
  const status = new Uint8Array(count).fill(statusOk)
  const engagement = { ...latest, count, gallery, postNo, status }
  return {
    cycleAtMs: newestCycleMs,
    count: slots.length,
    slots,
    readings: slots,
    galleries,
    gallery,
    posts,
    engagement,
    previous,
    snapshot,
  }
}
