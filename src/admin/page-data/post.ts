/**
 * `/api/posts/{gall_id}/{post_no}`: one pending post with its text, its images, and a timeline of the newest cycles.
 */
import {
  cycleIdPattern,
  ServiceError,
  snapshotNames,
  type Candidate,
  type PostDetails,
} from '../../contract/index.js'
import { readCandidates } from '../../cycle/index.js'
import type { HistoryRequest } from '../../history/index.js'
import type { ServerSources } from '../../server/index.js'
import type { Observer } from '../observer.js'
import { numberOrNull, trackCounters } from '../score-tracks.js'
import { imagesOf } from './images.js'
import { postFacts, scoreFacts } from './picks.js'

/** Throws `not_found` for a post that is not pending. */
export async function post(
  { sources, observer }: { readonly sources: ServerSources; readonly observer: Observer },
  gallId: string,
  postNo: number,
): Promise<PostDetails> {
  const { cycles, store } = sources
  const pool = cycles.pool
  const slot = pool.index.findPost(gallId, postNo)
  if (slot < 0) throw new ServiceError({ code: 'not_pending' })
  const position = pool.enteredPosition[slot]!
  // Everything that reads columns comes before the first wait.
  const facts = {
    ...postFacts(pool, slot, sources.clock()),
    ...scoreFacts(observer.tracks.last, pool, slot),
    snapshot: Object.fromEntries(
      snapshotNames.map((name) => [name, numberOrNull(pool.snapshot[name][slot])]),
    ),
    timeline: observer.tracks.all.flatMap((track) => {
      const trackSlot = track.find(gallId, postNo)
      if (trackSlot < 0) return []
      return {
        cycle_id: track.cycleId,
        cycle_time: track.cycleTime,
        model_version: track.modelVersion,
        score: track.scoreAt(trackSlot),
        ...track.rankAt(trackSlot),
        counters: Object.fromEntries(trackCounters.map((name) => [name, track.counterAt(name, trackSlot)])),
      }
    }),
    images: imagesOf(sources, { gallId, postNo }, Infinity),
  }
  const [record] = await readCandidates(store, position, [pool.enteredRow[slot]!])
  return { ...facts, candidate: JSON.parse(Buffer.from(record ?? []).toString()) as Candidate }
}

/**
 * `/api/posts/{gall_id}/{post_no}/history`: the visits of a post, pending or not, its scores, and the explanation of one.
 * Throws `bad_request`.
 */
export function explainRequest(gall_id: string, post_no: number, query: URLSearchParams): HistoryRequest {
  const cycleOf = (name: string): string | null => {
    const id = query.get(name)
    if (id !== null && !cycleIdPattern.test(id)) throw new ServiceError({ code: 'no_cycle_id', name })
    return id
  }
  return { kind: 'explain', gall_id, post_no, cycleId: cycleOf('cycle'), againstId: cycleOf('against') }
}

/** Parses a number in a path. Throws `not_found`. */
export function numberOfPath(text: string): number {
  const value = Number(text)
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(value))
    throw new ServiceError({ code: 'unknown_path' })
  return value
}
