/**
 * Counters of the scored reading, and their ratios.
 */
import { counterNames, type CounterName } from '../../contract/index.js'
import { counter } from './columns.js'
import { add, atLeast, divide, log, missing } from './expression.js'
import type { Feature } from './feature.js'
import { ratio } from './shared.js'

const votes = add(counter('up'), counter('down'))

export const counterFeatures: readonly Feature[] = [
  ...counterNames.map((name) => ({ name, formula: name, missing: 0, value: counter(name) })),
  ...counterNames.map((name) => ({
    name: `${name}_log`,
    formula: `log(${name})`,
    missing: 0,
    value: log(counter(name)),
  })),
  ...counterNames.map((name) => ({
    name: `${name}_missing`,
    formula: `1 when ${name} is null, else 0`,
    missing: 1,
    value: missing(counter(name)),
  })),
]

export const ratioFeatures: readonly Feature[] = [
  perCount('up_per_view', 'up', 'views', 1),
  perCount('down_per_view', 'down', 'views', 1),
  perCount('comments_per_view', 'comment_cnt', 'views', 1),
  perCount('rtb_per_view', 'rtb_vote', 'views', 1),
  perCount('rtb_per_up', 'rtb_vote', 'up', 10),
  perCount('comments_per_up', 'comment_cnt', 'up', 10),
  {
    name: 'down_share',
    formula: 'down / (up + down), 0 without votes',
    missing: 0,
    value: divide(counter('down'), atLeast(votes, 1)),
  },
  {
    name: 'up_share_smoothed',
    formula: '(up + 1) / (up + down + 2): a half until votes say otherwise',
    missing: 0.5,
    value: divide(add(counter('up'), 1), add(votes, 2)),
  },
  { name: 'votes_log', formula: 'log(up + down)', missing: 0, value: log(votes) },
]

function perCount(name: string, part: CounterName, whole: CounterName, ratioMax: number): Feature {
  return {
    name,
    formula: `${part} / max(${whole}, 1), at most ${ratioMax}`,
    missing: 0,
    value: ratio(counter(part), counter(whole), ratioMax),
  }
}
