/**
 * A year of one day, with a shadow, images and swaps between a model with encoders and one without, while released memory is
 * overwritten. `npm run test:soak -- year` compares months.
 */
import { expect, test } from 'vitest'
import { year } from './year.js'

test('after a day verify passes, and the last backup with the cycles sent again gives the same results', async () => {
  const { checkpoints, restoration, verdicts } = await year(
    {
      seed: 1,
      model: 'demo-1',
      otherModel: 'example-1',
      hasPoisonedMemory: true,
      postsPerDay: 60,
      imageShare: 0.1,
      days: 1,
      minutesMax: 10,
      keptDays: { cycles: 14, images: 7, outcomes: 90 },
      checkpointDays: [],
      sampleDays: 1,
    },
    () => undefined,
  )
  expect(verdicts.filter(({ holds }) => !holds)).toEqual([])
  expect(checkpoints).toMatchObject([{ day: 1, cycle: 288 }])
  expect(restoration.cyclesSentAgain).toBe(12)
})
