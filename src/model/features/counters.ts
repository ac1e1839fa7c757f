/**
 * Counters of the reading that is scored, and their ratios.
 */
import { counterNames, type CounterName } from '../../contract/index.js'
import { counter } from './columns.js'
import type { Feature, Fill } from './feature.js'
import { logCount, missingFlag, ratio } from './fills.js'
import { logOnePlus } from './count-log.js'

export const counterFeatures: readonly Feature[] = [
  ...counterNames.map((name) => ({
    name: `${name}_log`,
    formula: `log(${name})`,
    missing: 0,
    fill: logCount(counter(name)),
  })),
  ...counterNames.map((name) => ({
    name: `${name}_missing`,
    formula: `1 when ${name} is null, else 0`,
    missing: 1,
    fill: missingFlag(counter(name)),
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
    fill: voteShare('down', 0),
  },
  {
    name: 'up_share_smoothed',
    formula: '(up + 1) / (up + down + 2): a half until votes say otherwise',
    missing: 0.5,
    fill: voteShare('up', 1),
  },
  { name: 'votes_log', formula: 'log(up + down)', missing: 0, fill: fillVotesLog },
]

function perCount(name: string, part: CounterName, whole: CounterName, ratioMax: number): Feature {
  return {
    name,
    formula: `${part} / max(${whole}, 1), at most ${ratioMax}`,
    missing: 0,
    fill: ratio(counter(part), counter(whole), ratioMax),
  }
}

/** (votes of one side + prior) / (all votes + 2 prior); what it tends to, where there is nothing to divide. */
function voteShare(side: 'up' | 'down', prior: number): Fill {
  const unknown = prior > 0 ? 0.5 : 0
  return (inputs, out, first, stride) => {
    const { up, down } = inputs.engagement
    const votes = inputs.engagement[side]
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      const reading = inputs.readings[row] as number
      const all = (up[reading] as number) + (down[reading] as number) + 2 * prior
      out[at] = all > 0 ? ((votes[reading] as number) + prior) / all : unknown
    }
  }
}

function fillVotesLog(...[inputs, out, first, stride]: Parameters<Fill>): void {
  const { up, down } = inputs.engagement
  for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
    const reading = inputs.readings[row] as number
    const votes = (up[reading] as number) + (down[reading] as number)
    out[at] = votes > 0 ? logOnePlus(votes) : 0
  }
}
