/**
 * Heads with values that are NaN or outside 0 to 1: the error names the head and the row.
 */
import { describe, test } from 'vitest'
import {
  expectClose,
  expectModelError,
  load,
  packaged,
  postsWithViews,
} from '../../../test/helpers/loaded-models.js'
import { smallGraph } from '../../../test/helpers/model-packages.js'

describe('an invalid value of a head', () => {
  // 1 - views_log is 1 for a post without views; its square root is NaN for one with many.
  const oneMinusFeature = { type: 'Sub', inputs: ['one', 'features'], outputs: ['rest'] }
  const constants = [{ name: 'one', shape: [1], values: Float32Array.of(1) }]

  test('fails the call with an error that names the head and counts the rows, and the next call succeeds', async () => {
    const operators = [oneMinusFeature, { type: 'Sqrt', inputs: ['rest'], outputs: ['probs'] }]
    const model = await load(packaged(smallGraph({ constants, operators })))
    await expectModelError(
      model.predict(postsWithViews([0, 99, 0, 99])),
      /^head p_views: 2 of 4 rows are not finite and within 0 to 1, the first is row 1 with NaN$/,
    )
    expectClose((await model.predict(postsWithViews([0]))).p_views, [1])
  })

  test('may be a number outside 0 to 1', async () => {
    const operators = [{ ...oneMinusFeature, outputs: ['probs'] }]
    const model = await load(packaged(smallGraph({ constants, operators })))
    await expectModelError(model.predict(postsWithViews([99])), /1 of 1 rows .* with -3\.6/)
  })
})
