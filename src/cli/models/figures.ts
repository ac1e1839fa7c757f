/**
 * The figures of a comparison, gathered cycle by cycle: over all posts at once, by cycle, and the posts on which the two
 * models differ most.
 */
import type { HeadName } from '../../contract/index.js'
import { postName, readCandidates } from '../../cycle/index.js'
import {
  compareScores,
  findEntries,
  largestMovers,
  overlapDepths,
  quantileShares,
  scoreSources,
  type Agreement,
  type Distribution,
  type LeftOut,
  type ScoreSource,
  type ScorePair,
} from '../../history/index.js'
import type { Store, StoredCycle } from '../../store/index.js'

/** As `--json` prints it. Overlaps are by depth, quantiles by share. */
export interface Comparison {
  readonly first: string
  readonly second: string
  readonly cycles: {
    readonly count: number
    readonly from: string
    readonly to: string
    /** Cycles of `count` in which no post was scored; they are in no figure. */
    readonly without_scored_posts: number
  }
  /** Of each version; a post has one in each cycle that scored it. */
  readonly scores: number
  /** Distinct posts. */
  readonly posts: number
  /** Cycles by where their scores came from. */
  readonly sources: Readonly<Record<'first' | 'second', Readonly<Record<ScoreSource, number>>>>
  /** Heads that a version does not give, and that a weight of the cycles asks for. */
  readonly lacking_heads: Readonly<Record<'first' | 'second', readonly HeadName[]>>
  /** What a replay had to do without, since it ends its encoder even alone. */
  readonly left_out: Readonly<Record<'first' | 'second', LeftOutFigures>>
  /**
   * All scores of all cycles as one list; null where there are none. Its overlaps are null: the best of it would be few
   * posts, each many times.
   */
  readonly pooled: (AgreementFigures & { readonly first: ScoreFigures; readonly second: ScoreFigures }) | null
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

export interface LeftOutFigures {
  readonly texts: number
  readonly images: number
}

export interface AgreementFigures {
  readonly rank_correlation: number | null
  readonly overlap: Readonly<Record<string, number | null>>
  /** Of the second version from the first. */
  readonly mean_signed_difference: number | null
  readonly mean_absolute_difference: number | null
}

export interface ScoreFigures {
  readonly distinct_scores: number
  readonly mean: number
  readonly quantiles: Readonly<Record<string, number>>
}

/** A post, in the cycle in which the models disagree most about it. */
export interface MoverFigures {
  readonly gall_id: string
  readonly post_no: number
  /** Null where the record of its entry has expired. */
  readonly title: string | null
  readonly cycle_id: string
  readonly posts: number
  /** Places that equal scores share count as the mean of them, so that a rank may have a half. */
  readonly first_rank: number
  readonly second_rank: number
  readonly first_score: number
  readonly second_score: number
}

const moversMax = 20

interface FoundMover {
  readonly position: number
  readonly figures: Omit<MoverFigures, 'title'>
}

export class Figures {
  readonly #versions: readonly [first: string, second: string]
  readonly #cycles: Comparison['per_cycle'][number][] = []
  readonly #first: Float64Array[] = []
  readonly #second: Float64Array[] = []
  /** By name. */
  readonly #posts = new Set<string>()
  readonly #lacking = { first: new Set<HeadName>(), second: new Set<HeadName>() }
  readonly #leftOut = { first: { texts: 0, images: 0 }, second: { texts: 0, images: 0 } }
  /** By post. */
  readonly #movers = new Map<string, FoundMover>()

  constructor(versions: readonly [first: string, second: string]) {
    this.#versions = versions
  }

  add({ cycle, posts, first, second }: ScorePair): void {
    this.#first.push(first.scores)
    this.#second.push(second.scores)
    for (const { gallId, postNo } of posts) this.#posts.add(postName(gallId, postNo))
    for (const head of first.lacking) this.#lacking.first.add(head)
    for (const head of second.lacking) this.#lacking.second.add(head)
    const agreement = compareScores(first.scores, second.scores)
    this.#cycles.push({
      cycle_id: cycle.cycleId,
      posts: posts.length,
      first_distinct_scores: agreement.first.distinctCount,
      second_distinct_scores: agreement.second.distinctCount,
      weights_version: cycle.weightsVersion,
      first_source: first.source,
      second_source: second.source,
      ...agreementFigures(agreement),
    })
    for (const { row, firstRank, secondRank } of largestMovers(first.scores, second.scores, moversMax)) {
      const { gallId, postNo } = posts[row] as ScorePair['posts'][number]
      const figures = {
        gall_id: gallId,
        post_no: postNo,
        cycle_id: cycle.cycleId,
        posts: posts.length,
        first_rank: firstRank,
        second_rank: secondRank,
        first_score: first.scores[row] as number,
        second_score: second.scores[row] as number,
      }
      const mover = { position: cycle.position, figures }
      const name = postName(gallId, postNo)
      const known = this.#movers.get(name)
      if (known === undefined || distance(mover) > distance(known)) this.#movers.set(name, mover)
    }
  }

  leaveOut(version: string, { what }: LeftOut): void {
    const figures = this.#leftOut[version === this.#versions[0] ? 'first' : 'second']
    if (what === 'text') figures.texts++
    else figures.images++
  }

  async comparison(store: Store, cycles: readonly StoredCycle[]): Promise<Comparison> {
    const [first, second] = this.#versions
    const [firstScores, secondScores] = [joined(this.#first), joined(this.#second)]
    const pooled = firstScores.length === 0 ? null : compareScores(firstScores, secondScores)
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
        first: this.#countSources('first_source'),
        second: this.#countSources('second_source'),
      },
      lacking_heads: { first: [...this.#lacking.first], second: [...this.#lacking.second] },
      left_out: this.#leftOut,
      pooled: pooled && {
        ...agreementFigures({ ...pooled, overlap: [] }),
        first: scoreFigures(pooled.first),
        second: scoreFigures(pooled.second),
      },
      median: this.#cycles.length === 0 ? null : medians(this.#cycles),
      per_cycle: this.#cycles,
      movers: await titled(store, this.#largest()),
    }
  }

  #countSources(which: 'first_source' | 'second_source'): Record<ScoreSource, number> {
    const count = (source: ScoreSource): number =>
      this.#cycles.filter((cycle) => cycle[which] === source).length
    return Object.fromEntries(scoreSources.map((source) => [source, count(source)])) as Record<
      ScoreSource,
      number
    >
  }

  #largest(): FoundMover[] {
    return [...this.#movers.values()].sort((a, b) => distance(b) - distance(a)).slice(0, moversMax)
  }
}

function distance({ figures }: FoundMover): number {
  return Math.abs(figures.first_rank - figures.second_rank)
}

function agreementFigures(agreement: Agreement): AgreementFigures {
  return {
    rank_correlation: agreement.rankCorrelation,
    overlap: Object.fromEntries(overlapDepths.map((depth, i) => [depth, agreement.overlap[i] ?? null])),
    mean_signed_difference: agreement.meanSignedDifference,
    mean_absolute_difference: agreement.meanAbsoluteDifference,
  }
}

function scoreFigures({ distinctCount, mean, quantiles }: Distribution): ScoreFigures {
  return {
    distinct_scores: distinctCount,
    mean,
    quantiles: Object.fromEntries(quantileShares.map((share, i) => [share, quantiles[i] as number])),
  }
}

function medians(cycles: readonly AgreementFigures[]): AgreementFigures {
  return {
    rank_correlation: median(cycles.map((cycle) => cycle.rank_correlation)),
    overlap: Object.fromEntries(
      overlapDepths.map((depth) => [depth, median(cycles.map(({ overlap }) => overlap[depth] ?? null))]),
    ),
    mean_signed_difference: median(cycles.map((cycle) => cycle.mean_signed_difference)),
    mean_absolute_difference: median(cycles.map((cycle) => cycle.mean_absolute_difference)),
  }
}

function median(values: readonly (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b)
  const [below, above] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return below === undefined || above === undefined ? null : (below + above) / 2
}

function joined(parts: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** With the titles of the posts as they were recorded. */
async function titled(store: Store, movers: readonly FoundMover[]): Promise<MoverFigures[]> {
  const posts = movers.map(({ position, figures: { gall_id, post_no } }) => ({
    gallId: gall_id,
    postNo: post_no,
    position,
  }))
  const places = findEntries(store, posts)
  return Promise.all(
    movers.map(async (mover, index) => {
      const place = places[index]
      const known = place !== undefined && store.readRequest(place.position) !== undefined
      const [record] = known ? await readCandidates(store, place.position, [place.row]) : []
      return { ...mover.figures, title: record === undefined ? null : titleOf(record) }
    }),
  )
}

function titleOf(record: Uint8Array): string {
  return (JSON.parse(Buffer.from(record).toString('utf8')) as { title: string }).title
}
