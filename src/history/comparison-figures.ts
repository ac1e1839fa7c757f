/**
 * The figures of a comparison of two models, collected cycle by cycle: over all scores, per cycle, and the posts whose
 * ranks differ most.
 */
import { outcome, type HeadName } from '../contract/index.js'
import { postName, readCandidates, readEvaluationRows } from '../cycle/index.js'
import type { Position, Store, StoredCycle } from '../store/index.js'
import {
  compareScores,
  largestMovers,
  overlapDepths,
  rankDistance,
  type AgreementFigures,
  type Mover,
  type ScoreFigures,
} from './comparison.js'
import { quantile } from './ranking.js'
import type { ExcludedInput } from './replayed-inputs.js'
import { scoreSources, type ScorePair, type ScoreSource } from './score-pairs.js'

type Both<T> = Readonly<Record<'first' | 'second', T>>

/** As `understudy models compare --json` prints it. Overlaps are by depth, quantiles by share. */
export interface Comparison {
  readonly first: string
  readonly second: string
  readonly cycles: {
    readonly count: number
    readonly from: string
    readonly to: string
    /** Cycles of `count` without scored posts; no figure includes them. */
    readonly without_scored_posts: number
  }
  /** Scores of each version; a post has one in each cycle that scored it. */
  readonly scores: number
  /** Distinct posts. */
  readonly posts: number
  /** Number of cycles by the source of their scores. */
  readonly sources: Both<Readonly<Record<ScoreSource, number>>>
  /** Heads that have a weight in these cycles and that a version lacks. */
  readonly lacking_heads: Both<readonly HeadName[]>
  /** Texts and images that a replay left out because they crash the encoder. */
  readonly skipped: Both<SkippedFigures>
  /** All scores as one list; null where there are none. Its overlaps are null, since a post occurs many times. */
  readonly pooled: (AgreementFigures & Both<ScoreFigures>) | null
  /** Medians over the cycles that have the figure. */
  readonly median: AgreementFigures | null
  readonly per_cycle: readonly (AgreementFigures & {
    readonly cycle_id: string
    readonly posts: number
    readonly first_distinct_scores: number
    readonly second_distinct_scores: number
    readonly weights_version: string
    readonly first_source: ScoreSource
    readonly second_source: ScoreSource
  })[]
  readonly movers: readonly MoverFigures[]
}

interface SkippedFigures {
  readonly texts: number
  readonly images: number
}

/** A post, in the cycle in which its two ranks differ most. */
export interface MoverFigures extends Omit<Mover, 'row'> {
  readonly gall_id: string
  readonly post_no: number
  /** Null where the record of its entry has expired. */
  readonly title: string | null
  readonly cycle_id: string
  readonly posts: number
  readonly first_score: number
  readonly second_score: number
}

const moversMax = 20

interface FoundMover {
  readonly position: Position
  /** Of the scored rows. */
  readonly row: number
  readonly figures: Omit<MoverFigures, 'title'>
}

export class ComparisonFigures {
  readonly #versions: readonly [first: string, second: string]
  readonly #cycles: Comparison['per_cycle'][number][] = []
  readonly #scores: Both<Float64Array[]> = { first: [], second: [] }
  /** By name. */
  readonly #posts = new Set<string>()
  readonly #lacking = { first: new Set<HeadName>(), second: new Set<HeadName>() }
  readonly #skipped = { first: { texts: 0, images: 0 }, second: { texts: 0, images: 0 } }
  /** By the name of the post. */
  readonly #movers = new Map<string, FoundMover>()

  constructor(versions: readonly [first: string, second: string]) {
    this.#versions = versions
  }

  add(pair: ScorePair): void {
    const { cycle, posts, first, second } = pair
    for (const side of ['first', 'second'] as const) {
      this.#scores[side].push(pair[side].scores)
      for (const head of pair[side].lacking) this.#lacking[side].add(head)
    }
    for (const { gallId, postNo } of posts) this.#posts.add(postName(gallId, postNo))
    const compared = compareScores(first.scores, second.scores)
    this.#cycles.push({
      cycle_id: cycle.cycleId,
      posts: posts.length,
      first_distinct_scores: compared.first.distinct_scores,
      second_distinct_scores: compared.second.distinct_scores,
      weights_version: cycle.weightsVersion,
      first_source: first.source,
      second_source: second.source,
      ...compared.agreement,
    })
    this.#addMovers(pair)
  }

  #addMovers({ cycle, posts, first, second }: ScorePair): void {
    for (const { row, ...ranks } of largestMovers(first.scores, second.scores, moversMax)) {
      const { gallId, postNo } = posts[row] as ScorePair['posts'][number]
      const figures = {
        gall_id: gallId,
        post_no: postNo,
        cycle_id: cycle.cycleId,
        posts: posts.length,
        ...ranks,
        first_score: first.scores[row] as number,
        second_score: second.scores[row] as number,
      }
      const mover = { position: cycle.position, row, figures }
      const name = postName(gallId, postNo)
      const known = this.#movers.get(name)
      if (known === undefined || rankDistance(figures) > rankDistance(known.figures))
        this.#movers.set(name, mover)
    }
  }

  addExcluded(version: string, { what }: ExcludedInput): void {
    const figures = this.#skipped[version === this.#versions[0] ? 'first' : 'second']
    figures[what === 'text' ? 'texts' : 'images']++
  }

  async comparison(store: Store, cycles: readonly StoredCycle[]): Promise<Comparison> {
    const [first, second] = this.#versions
    const [firstScores, secondScores] = [joined(this.#scores.first), joined(this.#scores.second)]
    const pooled = firstScores.length === 0 ? null : compareScores(firstScores, secondScores)
    const movers = [...this.#movers.values()]
      .sort((a, b) => rankDistance(b.figures) - rankDistance(a.figures))
      .slice(0, moversMax)
    return {
      first,
      second,
      cycles: {
        count: cycles.length,
        from: cycles[0]?.cycleId ?? '',
        to: cycles.at(-1)?.cycleId ?? '',
        without_scored_posts: cycles.length - this.#cycles.length,
      },
      scores: firstScores.length,
      posts: this.#posts.size,
      sources: {
        first: countSources(this.#cycles.map((cycle) => cycle.first_source)),
        second: countSources(this.#cycles.map((cycle) => cycle.second_source)),
      },
      lacking_heads: { first: [...this.#lacking.first], second: [...this.#lacking.second] },
      skipped: this.#skipped,
      pooled: pooled && {
        ...pooled.agreement,
        overlap: Object.fromEntries(overlapDepths.map((depth) => [depth, null])),
        first: pooled.first,
        second: pooled.second,
      },
      median: this.#cycles.length === 0 ? null : medians(this.#cycles),
      per_cycle: this.#cycles,
      movers: await withTitles(store, movers),
    }
  }
}

function countSources(sources: readonly ScoreSource[]): Record<ScoreSource, number> {
  const counts = Object.fromEntries(scoreSources.map((source) => [source, 0])) as Record<ScoreSource, number>
  for (const source of sources) counts[source]++
  return counts
}

function medians(cycles: readonly AgreementFigures[]): AgreementFigures {
  const of = (figure: (cycle: AgreementFigures) => number | null): number | null =>
    quantile(
      cycles.map(figure).filter((value) => value !== null),
      0.5,
    )
  return {
    rank_correlation: of((cycle) => cycle.rank_correlation),
    overlap: Object.fromEntries(
      overlapDepths.map((depth) => [depth, of(({ overlap }) => overlap[depth] ?? null)]),
    ),
    mean_signed_difference: of((cycle) => cycle.mean_signed_difference),
    mean_absolute_difference: of((cycle) => cycle.mean_absolute_difference),
  }
}

function joined(parts: readonly Float64Array[]): Float64Array {
  return Float64Array.from(parts.flatMap((part) => [...part]))
}

/** Adds the titles that were recorded when the posts entered. */
function withTitles(store: Store, movers: readonly FoundMover[]): Promise<MoverFigures[]> {
  return Promise.all(
    movers.map(async ({ position, row, figures }) => {
      const entered = enteredPlace(store, position, row)
      const isStored = entered !== null && store.readRequest(entered.position) !== undefined
      const [record] = isStored ? await readCandidates(store, entered.position, [entered.row]) : []
      return { ...figures, title: record === undefined ? null : titleOf(record) }
    }),
  )
}

/** Where the post of a scored row entered: position of the cycle, and row there. Null without an evaluation record. */
function enteredPlace(
  store: Store,
  position: Position,
  scoredRow: number,
): { readonly position: Position; readonly row: number } | null {
  const record = store.readEvaluation(position)
  if (record === undefined) return null
  const { outcome: outcomes, enteredPosition, enteredRow } = readEvaluationRows(record, position)
  const rows = [...outcomes.keys()].filter((row) => outcomes[row] === outcome.scored)
  const row = rows[scoredRow] as number
  return { position: enteredPosition[row] as number, row: enteredRow[row] as number }
}

function titleOf(record: Uint8Array): string {
  return (JSON.parse(Buffer.from(record).toString('utf8')) as { title: string }).title
}
