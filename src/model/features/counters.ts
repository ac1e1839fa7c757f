/**
 * Counters of the scored reading, and their ratios.
 */
import {
  counterNames,
  type CounterName,
  type InputUnit,
  type InputWords,
  type ShownInput,
} from '../../contract/index.js'
import { counter } from './columns.js'
import { add, atLeast, divide, signedLog1p, missing } from './expression.js'
import { featureTable, named, type FeatureRow } from './feature.js'
import { ratio } from './shared.js'

type PerCount = Extract<keyof InputWords['named'], `${string}_per_${string}`>

const votes = add(counter('up'), counter('down'))

export const counterFeatures = featureTable([
  ...counterNames.map((name): FeatureRow => [name, name, 0, counter(name), shown(name, 'count')]),
  ...counterNames.map((name): FeatureRow => [
    `${name}_log`,
    `log(${name})`,
    0,
    signedLog1p(counter(name)),
    shown(name, 'count', 1),
  ]),
  ...counterNames.map((name): FeatureRow => {
    return [
      `${name}_missing`,
      `1 when ${name} is null, else 0`,
      1,
      missing(counter(name)),
      { form: 'missing', of: name, unit: 'flag', logs: 0 },
    ]
  }),
])

export const ratioFeatures = featureTable([
  perCount('up_per_view', 'up', 'views', 1),
  perCount('down_per_view', 'down', 'views', 1),
  perCount('comments_per_view', 'comment_cnt', 'views', 1),
  perCount('rtb_per_view', 'rtb_vote', 'views', 1),
  perCount('rtb_per_up', 'rtb_vote', 'up', 10),
  perCount('comments_per_up', 'comment_cnt', 'up', 10),
  [
    'down_share',
    'down / (up + down), 0 without votes',
    0,
    divide(counter('down'), atLeast(votes, 1)),
    named('down_share', 'share'),
  ],
  [
    'up_share_smoothed',
    '(up + 1) / (up + down + 2): a half without votes',
    0.5,
    divide(add(counter('up'), 1), add(votes, 2)),
    named('up_share_smoothed', 'share'),
  ],
  ['votes_log', 'log(up + down)', 0, signedLog1p(votes), named('votes', 'count', 1)],
])

function shown(of: CounterName, unit: InputUnit, logs = 0): ShownInput {
  return { form: 'count', of, unit, logs }
}

function perCount(name: PerCount, part: CounterName, whole: CounterName, ratioMax: number): FeatureRow {
  const formula = `${part} / max(${whole}, 1), at most ${ratioMax}`
  return [
    name,
    formula,
    0,
    ratio(counter(part), counter(whole), ratioMax),
    named(name, whole === 'views' ? 'share' : 'factor'),
  ]
}
