/**
 * Compares two versions on the scored posts of stored cycles: how much their scores agree over all cycles and per cycle, the
 * posts whose ranks differ most, and how well each ranks the posts that the operators saved. Read `compareVersions` first.
 */
import {
  assert,
  type AgreementFigures,
  type Both,
  type Comparison,
  type HeadName,
  type MoverFigures,
  type ScoreSource,
} from '../../contract/index.js'
import type { Store, StoredCycle } from '../../store/index.js'
import { compareScores, largestMovers, overlapDepths, rankDistance, scoreFigures } from './comparison.js'
import { HistoryError } from '../history-error.js'
import { evaluate } from '../evaluation/evaluate.js'
import { quantile } from '../evaluation/ranking.js'
import type { ExcludedInput } from './replayed-inputs.js'
import {
  ReplayedScores,
  scoreSources,
  sourcedScores,
  type ScoresOptions,
  type SourcedCycle,
  type SourcedScores,
} from './version-scores.js'
import { postName } from '../recorded/records.js'
import { candidateOf, isPendingAt, StoredVisits } from '../recorded/stored-visits.js'

const moversMax = 20

interface FoundMover {
  readonly cycle: StoredCycle
  readonly figures: Omit<MoverFigures, 'title'>
}

export interface CompareOptions extends ScoresOptions {
  readonly versions: readonly [first: string, second: string]
  /** Stored cycles in order of arrival. */
  readonly cycles: readonly StoredCycle[]
}

/** The newest cycles, in order of arrival. */
export function lastCycles(store: Store, count: number): StoredCycle[] {
  const newest = store.lastCycle()?.position
  if (newest === undefined) throw new HistoryError({ code: 'no_cycles' })
  return [...store.tail(Math.max(1, newest - count + 1))]
}

/** Rejects with the errors of `load` and of a replay. */
export async function compareVersions(store: Store, options: CompareOptions): Promise<Comparison> {
  const { cycles, versions } = options
  const figures = new ComparisonFigures(versions)
  const replayed = new ReplayedScores()
  const onExcluded = (version: string, excluded: ExcludedInput): void => {
    figures.addExcluded(version, excluded)
    options.onExcluded(version, excluded)
  }
  for await (const scored of sourcedScores(store, cycles, { ...options, onExcluded })) {
    figures.add(scored)
    replayed.add(scored)
  }
  return {
    ...figures.comparison(cycles),
    movers: await withTitles(store, figures.movers),
    quality: qualityOf(store, options, replayed),
  }
}

/** Quality over the posts that were decided in the time of the cycles. */
function qualityOf(
  store: Store,
  { cycles, versions }: CompareOptions,
  replayed: ReplayedScores,
): Comparison['quality'] {
  const times = cycles.map(({ cycleAtMs }) => cycleAtMs)
  const window = { fromMs: Math.min(...times), toMs: Math.max(...times) }
  const { rankers, differences } = evaluate(store, { ...window, versions, ranksServed: true, replayed })
  // The model that served comes first.
  const [, first, second] = rankers
  const difference = differences.at(-1)
  assert(first !== undefined && second !== undefined && difference !== undefined, 'both versions are ranked')
  return { first, second, difference: { ...difference, a: versions[0], b: versions[1] } }
}

class ComparisonFigures {
  readonly #versions: readonly [first: string, second: string]
  readonly #cycles: Comparison['per_cycle'][number][] = []
  readonly #scores: Both<Float64Array[]> = { first: [], second: [] }
  readonly #posts = new Set<string>()
  readonly #lacking = { first: new Set<HeadName>(), second: new Set<HeadName>() }
  readonly #skipped = { first: { texts: 0, images: 0 }, second: { texts: 0, images: 0 } }
  readonly #movers = new Map<string, FoundMover>()

  constructor(versions: readonly [first: string, second: string]) {
    this.#versions = versions
  }

  add({ cycle, posts, sides }: SourcedCycle): void {
    const [first, second] = sides as readonly [SourcedScores, SourcedScores]
    for (const side of ['first', 'second'] as const) {
      const { scores, lacking } = { first, second }[side]
      this.#scores[side].push(scores)
      for (const head of lacking) this.#lacking[side].add(head)
    }
    for (const { gallId, postNo } of posts) this.#posts.add(postName(gallId, postNo))
    this.#cycles.push({
      cycle_id: cycle.cycleId,
      posts: posts.length,
      weights_version: cycle.weightsVersion,
      first_source: first.source,
      second_source: second.source,
      ...compareScores(first.scores, second.scores),
    })
    this.#addMovers(cycle, posts, first.scores, second.scores)
  }

  #addMovers(
    cycle: StoredCycle,
    posts: SourcedCycle['posts'],
    first: Float64Array,
    second: Float64Array,
  ): void {
    for (const { row, ...ranks } of largestMovers(first, second, moversMax)) {
      const { gallId, postNo } = posts[row]!
      const figures = {
        gall_id: gallId,
        post_no: postNo,
        cycle_id: cycle.cycleId,
        posts: posts.length,
        ...ranks,
        first_score: first[row]!,
        second_score: second[row]!,
      }
      const name = postName(gallId, postNo)
      const known = this.#movers.get(name)
      if (known === undefined || rankDistance(figures) > rankDistance(known.figures))
        this.#movers.set(name, { cycle, figures })
    }
  }

  addExcluded(version: string, { what }: ExcludedInput): void {
    const figures = this.#skipped[version === this.#versions[0] ? 'first' : 'second']
    figures[what === 'text' ? 'texts' : 'images']++
  }

  /** The posts whose ranks differ most. */
  get movers(): FoundMover[] {
    return [...this.#movers.values()]
      .sort((a, b) => rankDistance(b.figures) - rankDistance(a.figures))
      .slice(0, moversMax)
  }

  comparison(cycles: readonly StoredCycle[]): Omit<Comparison, 'movers' | 'quality'> {
    const [first, second] = this.#versions
    const [firstScores, secondScores] = [join(this.#scores.first), join(this.#scores.second)]
    const isEmpty = firstScores.length === 0
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
      pooled: isEmpty ? null : { first: scoreFigures(firstScores), second: scoreFigures(secondScores) },
      median: isEmpty ? null : medians(this.#cycles),
      per_cycle: this.#cycles,
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

function join(parts: readonly Float64Array[]): Float64Array {
  return Float64Array.from(parts.flatMap((part) => [...part]))
}

/** Adds the titles that were recorded when the posts entered. */
function withTitles(store: Store, movers: readonly FoundMover[]): Promise<MoverFigures[]> {
  const visits = new StoredVisits(store).list()
  return Promise.all(
    movers.map(async ({ cycle, figures }) => {
      const visit = visits.find(
        (each) =>
          each.postNo === figures.post_no && each.gallId === figures.gall_id && isPendingAt(each, cycle),
      )
      const candidate = visit && (await candidateOf(store, visit))
      return { ...figures, title: candidate?.title ?? null }
    }),
  )
}
