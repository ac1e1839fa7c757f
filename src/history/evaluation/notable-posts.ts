/**
 * Posts that show an editor where the model and the operators differ: those that it would have picked long before them, and
 * those that only they picked. As in a report, the model has as many picks in each cycle as the operators.
 */
import { minuteMs } from '../../base/index.js'
import type { Candidate } from '../../contract/index.js'
import { readCandidates } from '../../cycle/index.js'
import type { Store } from '../../store/index.js'
import { RecordedCycles } from '../recorded/recorded-cycles.js'
import { evaluateRankers } from './evaluate.js'
import { fates } from './ranker-evaluation.js'
import { modelRanker } from './rankers.js'
import { readWindow } from './window.js'

/** A post that the operators saved. */
export interface NotablePost {
  readonly gall_id: string
  readonly post_no: number
  readonly title: string
  readonly saved_ms: number
  /** Time from the model's pick to the save; null if it did not pick the post. */
  readonly lead_minutes: number | null
}

export interface NotablePosts {
  /** Those with the longest lead first. */
  readonly earlier: readonly NotablePost[]
  /** Those that the model ranked lowest first. */
  readonly missed: readonly NotablePost[]
}

/** Up to `countMax` posts of each kind, from all stored cycles. Posts whose requests have expired are left out. */
export async function notablePosts(store: Store, countMax: number): Promise<NotablePosts> {
  const stored = new RecordedCycles(store)
  const window = readWindow(stored, stored.window(-Infinity, Infinity))
  const [model] = evaluateRankers(stored, window, [modelRanker([])])
  if (model === undefined) return { earlier: [], missed: [] }
  const { fate, decidedMs } = window.fates
  const { picks, isPicked, rank } = model.evaluation
  const isSaved = (visit: number): boolean => fates[fate[visit]!] === 'saved'
  const minutesAfter = (visit: number, cycle: number): number =>
    (decidedMs[visit]! - (window.cycles[cycle]?.cycleAtMs ?? NaN)) / minuteMs
  const earlier = picks
    .filter(({ visit }) => isSaved(visit))
    .map(({ visit, cycleIndex }) => ({ visit, lead_minutes: minutesAfter(visit, cycleIndex) }))
    .sort((a, b) => b.lead_minutes - a.lead_minutes)
  const missed = [...rank.keys()]
    .filter((visit) => isSaved(visit) && isPicked[visit] === 0 && !Number.isNaN(rank[visit]))
    .sort((a, b) => rank[b]! - rank[a]!)
    .map((visit) => ({ visit, lead_minutes: null }))

  const describe = async (
    ranked: readonly { readonly visit: number; readonly lead_minutes: number | null }[],
  ): Promise<NotablePost[]> => {
    const posts: NotablePost[] = []
    for (const { visit, lead_minutes } of ranked) {
      if (posts.length === countMax) break
      const post = await candidateAt(window.visits.entry[visit]!)
      if (post !== null) posts.push({ ...post, saved_ms: decidedMs[visit]!, lead_minutes })
    }
    return posts
  }
  const candidateAt = async (
    entry: number,
  ): Promise<Pick<Candidate, 'gall_id' | 'post_no' | 'title'> | null> => {
    const position = window.entries.position[entry]!
    if (store.readRequest(position) === undefined) return null
    const [json] = await readCandidates(store, position, [window.entries.row[entry]!])
    const { gall_id, post_no, title } = JSON.parse(Buffer.from(json ?? []).toString()) as Candidate
    return { gall_id, post_no, title }
  }
  return { earlier: await describe(earlier), missed: await describe(missed) }
}
