/** Mutants of the feature catalogue in src/model/features. */
import type { MutantGroup } from './mutant.js'

export const featuresMutants: readonly MutantGroup[] = [
  {
    file: 'src/model/features/rates.ts',
    killedBy: ['src/model/features/golden.test.ts'],
    mutants: [
      {
        breaks: 'the least time between readings is a minute',
        find: 'const hoursBetweenMin = 1 / 60',
        replace: 'const hoursBetweenMin = 1 / 12',
      },
      {
        breaks: 'a rate of a life starts at five minutes',
        find: 'const hoursOfLifeMin = 1 / 12',
        replace: 'const hoursOfLifeMin = 1 / 60',
      },
      {
        breaks: 'a gain per view is 0 unless the views grew',
        find: 'multiply(share, greater(views, 0))]',
        replace: 'share]',
      },
      {
        breaks: 'the time since the previous reading is at most a day',
        find: 'signedLog1p(atMost(atLeast(divide(spanMs, minuteMs), 0), minutesMax))',
        replace: 'signedLog1p(atLeast(divide(spanMs, minuteMs), 0))',
      },
      {
        breaks: 'gains have a sign',
        find: '0, signedLog1p(gain(name))]',
        replace: '0, signedLog1p(atLeast(gain(name), 0))]',
      },
    ],
  },
  {
    file: 'src/model/features/counters.ts',
    killedBy: ['src/model/features/golden.test.ts'],
    mutants: [
      {
        breaks: 'the smoothed share of upvotes is a half without votes',
        find: "divide(add(counter('up'), 1), add(votes, 2))",
        replace: "divide(add(counter('up'), 1), add(votes, 1))",
      },
      {
        breaks: 'comments per upvote are at most 10',
        find: "perCount('comments_per_up', 'comment_cnt', 'up', 10)",
        replace: "perCount('comments_per_up', 'comment_cnt', 'up', 1)",
      },
    ],
  },
  {
    file: 'src/model/features/snapshots.ts',
    killedBy: ['src/model/features/golden.test.ts'],
    mutants: [
      {
        breaks: 'a total counts the part of the app',
        find: 'add(add(orZero(name), orZero(`${name}_m`)), orZero(`${name}_a`))',
        replace: 'add(add(orZero(name), orZero(`${name}_m`)), orZero(`${name}_m`))',
      },
      {
        breaks: 'a total is missing without a snapshot',
        find: 'return where(sum, present(snapshotAt))',
        replace: 'return sum',
      },
    ],
  },
  {
    file: 'src/model/features/posts.ts',
    killedBy: ['src/model/features/golden.test.ts'],
    mutants: [
      {
        breaks: 'images_in_post replaces absent positions',
        find: "coalesce(post('imagesExpected'), post('imagesInPost'))",
        replace: "post('imagesExpected')",
      },
      {
        breaks: 'the share of stored images is 1 when none is due',
        find: 'coalesce(atMost(divide(images, where(imagesDue, imagesDue)), 1), 1)',
        replace: 'coalesce(atMost(divide(images, where(imagesDue, imagesDue)), 1), 0)',
      },
    ],
  },
  {
    file: 'src/model/features/shared.ts',
    killedBy: ['src/model/features/golden.test.ts'],
    mutants: [
      {
        breaks: 'the denominator of a ratio is at least 1',
        find: 'divide(part, atLeast(whole, 1))',
        replace: 'divide(part, whole)',
      },
      {
        breaks: 'an age is not negative',
        find: 'signedLog1p(atLeast(divide(subtract(until, from), hourMs), 0))',
        replace: 'signedLog1p(divide(subtract(until, from), hourMs))',
      },
    ],
  },
  {
    file: 'src/model/features/texts.ts',
    killedBy: ['src/model/features/golden.test.ts'],
    mutants: [
      {
        breaks: 'the share of a measure is of all characters',
        find: "measure('chars'), 1),",
        replace: "measure('words'), 1),",
      },
      {
        breaks: 'an absent body counts as an empty one',
        find: 'missing: 0 }',
        replace: 'missing: 1 }',
      },
    ],
  },
]
