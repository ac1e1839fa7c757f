/**
 * A model without a session: predictions that follow from the inputs by a formula, and a switch to make it fail.
 */
import { ModelDownError, ModelError, ModelRowError, type Model } from '../../src/model/index.js'
import type { HeadColumns } from '../../src/contract/index.js'
import type { ScoringInputs } from '../../src/pool/index.js'

export class FakeModel implements Model {
  readonly version = 'fake-1'
  kind: 'trained' | 'transport-test' = 'trained'
  readonly provider = 'none'
  readonly text = null
  readonly image = null
  failing = false
  /** A row with a prediction that is not a share. */
  wrongRow: number | null = null
  /** The next batch ends the process; the one after it finds none. */
  crashesOnce = false
  isDown = false
  /** Inputs of the batches so far. */
  readonly seen: ScoringInputs[] = []
  /** When set, predictions wait for this promise. */
  blockedBy: Promise<void> = Promise.resolve()

  async predict(inputs: ScoringInputs): Promise<HeadColumns> {
    await this.blockedBy
    if (this.failing) throw new ModelError('the fake model fails on purpose')
    if (this.isDown) {
      this.isDown = false
      throw new ModelDownError('the model is down')
    }
    if (this.crashesOnce) {
      this.crashesOnce = false
      this.isDown = true
      throw new ModelError('the process of the model has crashed')
    }
    if (this.wrongRow !== null) throw new ModelRowError('head p_up: row', this.wrongRow)
    this.seen.push(structuredClone(inputs))
    const share = Float32Array.from(inputs.readings, (row) => {
      const views = inputs.engagement.views[row]!
      return Number.isNaN(views) ? 0 : (views % 100) / 100
    })
    return { p_views: share, p_comments: share, p_up: null, downvote_share: null }
  }
}
