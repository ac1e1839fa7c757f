/**
 * Numbers for posts and entries: which post a candidate row names, and what the row says. Filled from evaluation records,
 * and for cycles of earlier versions from their records of entered posts.
 */
import { postName, readEvaluationEvents, savedNames } from '../../cycle/index.js'
import { unpackTable } from '../../codec/index.js'
import { absentCode } from '../../contract/index.js'
import { PostMap, postColumnsOf } from '../../pool/index.js'
import type { Position, Store } from '../../store/index.js'
import type { PastEntries, PastPosts } from './past-cycle.js'

/** What a candidate row says of a post. */
export interface EntryFacts {
  readonly createdMs: number
  readonly extractedMs: number
  readonly source: number
  readonly galleryType: number
}

const unknownFacts: EntryFacts = {
  createdMs: NaN,
  extractedMs: NaN,
  source: absentCode,
  galleryType: absentCode,
}
const unknownPosition = -1

export class Registry {
  readonly #store: Store
  readonly #gallIds: (string | null)[] = []
  readonly #postNos: (number | null)[] = []
  readonly #byName = new PostMap<string, number>()
  readonly #postOf: number[] = []
  readonly #positionOf: number[] = []
  readonly #facts: EntryFacts[] = []
  /** Entries by position and row; rows beyond the entered posts are candidates that did not enter. */
  readonly #at = new Map<Position, number[]>()
  /** Entries of a post in order of position, of those that entered. */
  readonly #ofPost = new Map<number, number[]>()
  /** Positions of the cycles that removed a post, by its name. */
  readonly #leftAt = new Map<string, Position[]>()

  constructor(store: Store) {
    this.#store = store
  }

  readonly posts: PastPosts = this.#postView()
  readonly entries: PastEntries = this.#entryView()

  /** The post of this name; a new number where no record had it so far. */
  post(gallId: string, postNo: number): number {
    const known = this.#byName.get(gallId, postNo)
    if (known !== undefined) return known
    const post = this.#gallIds.push(gallId) - 1
    this.#postNos.push(postNo)
    this.#byName.set(gallId, postNo, post)
    return post
  }

  /** Candidates of the cycle at a position: entered ones, then those that its evaluation record adds. */
  entriesAt(position: Position): number[] {
    const known = this.#at.get(position)
    if (known !== undefined) return known
    const entries: number[] = []
    this.#at.set(position, entries)
    const record = this.#store.readEvaluation(position)
    if (record !== undefined) this.#addRecorded(position, record, entries)
    else this.#addEntered(position, entries)
    return entries
  }

  /** The entry in a row of the posts that entered at a position, even if its record has expired. */
  entryAt(position: Position, row: number): number {
    const entries = this.entriesAt(position)
    return (entries[row] ??= this.#add(this.#nameless(), position, unknownFacts))
  }

  /** The latest entry of a post at or before a position, where `entriesAt` has read its cycle. */
  latestEntry(post: number, position: Position): number | undefined {
    return this.#ofPost.get(post)?.findLast((entry) => (this.#positionOf[entry] as number) <= position)
  }

  /** Notes the posts that left with the cycle at a position. In order of position. */
  addLeft(position: Position): void {
    for (const name of savedNames(this.#store.readLeft(position))) {
      const positions = this.#leftAt.get(name)
      if (positions === undefined) this.#leftAt.set(name, [position])
      else positions.push(position)
    }
  }

  /** The entry of a post that the cycle at a position removed; undefined where the post was not pending before it. */
  removedEntry(gallId: string, postNo: number, position: Position): number | undefined {
    const left = this.#leftAt.get(postName(gallId, postNo)) ?? []
    const entry = this.latestEntry(this.post(gallId, postNo), position - 1)
    if (entry === undefined || !left.includes(position)) return undefined
    const entered = this.#positionOf[entry] as number
    return left.some((at) => at > entered && at < position) ? undefined : entry
  }

  /** An entry that is known by its name only: its record of entered posts has expired. */
  addUnknown(post: number): number {
    const entry = this.#add(post, unknownPosition, unknownFacts)
    this.#ofPost.set(post, [entry, ...(this.#ofPost.get(post) ?? [])])
    return entry
  }

  /** A candidate that did not enter. */
  addSentAgain(post: number, position: Position, facts: EntryFacts): number {
    return this.#add(post, position, facts)
  }

  /** The name of a post that had none, where it is not that of another post. */
  nameEntry(entry: number, gallId: string, postNo: number): void {
    const post = this.#postOf[entry] as number
    if (this.#gallIds[post] !== null || this.#byName.get(gallId, postNo) !== undefined) return
    this.#gallIds[post] = gallId
    this.#postNos[post] = postNo
    this.#byName.set(gallId, postNo, post)
  }

  #addRecorded(position: Position, record: Uint8Array, entries: number[]): void {
    const { candidates } = readEvaluationEvents(record)
    const { galleries, gallery, postNo, createdMs, extractedMs, source, galleryType } = candidates
    for (let row = 0; row < postNo.length; row++) {
      const post = this.post(galleries[gallery[row] as number] as string, postNo[row] as number)
      const entry = this.#add(post, position, {
        createdMs: createdMs[row] as number,
        extractedMs: extractedMs[row] as number,
        source: source[row] as number,
        galleryType: galleryType[row] as number,
      })
      entries.push(entry)
      if (row < candidates.enteredCount) this.#addOfPost(post, entry)
    }
  }

  #addEntered(position: Position, entries: number[]): void {
    const packed = this.#store.readEntered(position)
    if (packed === undefined) return
    const { header, columns } = unpackTable(packed)
    const { galleries } = header as { readonly galleries: readonly string[] }
    const [gallery, postNo, , , ...rest] = columns as [Float64Array, Float64Array, ...Float64Array[]]
    const facts = candidateFacts(postColumnsOf(rest))
    for (let row = 0; row < postNo.length; row++) {
      const post = this.post(galleries[gallery[row] as number] as string, postNo[row] as number)
      const entry = this.#add(post, position, facts(row))
      entries.push(entry)
      this.#addOfPost(post, entry)
    }
  }

  #addOfPost(post: number, entry: number): void {
    const entries = this.#ofPost.get(post)
    if (entries === undefined) this.#ofPost.set(post, [entry])
    else {
      entries.push(entry)
      entries.sort((a, b) => (this.#positionOf[a] as number) - (this.#positionOf[b] as number))
    }
  }

  #add(post: number, position: Position, facts: EntryFacts): number {
    this.#positionOf.push(position)
    this.#facts.push(facts)
    return this.#postOf.push(post) - 1
  }

  #nameless(): number {
    this.#postNos.push(null)
    return this.#gallIds.push(null) - 1
  }

  #postView(): PastPosts {
    const [gallIds, postNos, byName] = [this.#gallIds, this.#postNos, this.#byName]
    return {
      get count() {
        return gallIds.length
      },
      gallId: (post) => gallIds[post] ?? null,
      postNo: (post) => postNos[post] ?? null,
      find: (gallId, postNo) => byName.get(gallId, postNo),
    }
  }

  #entryView(): PastEntries {
    const [postOf, positionOf, facts] = [this.#postOf, this.#positionOf, this.#facts]
    const factsOf = (entry: number): EntryFacts => facts[entry] ?? unknownFacts
    return {
      get count() {
        return postOf.length
      },
      post: (entry) => postOf[entry] as number,
      position: (entry) => positionOf[entry] as number,
      createdMs: (entry) => factsOf(entry).createdMs,
      extractedMs: (entry) => factsOf(entry).extractedMs,
      source: (entry) => factsOf(entry).source,
      galleryType: (entry) => factsOf(entry).galleryType,
    }
  }
}

/** The facts of candidate rows, from columns of posts. */
export function candidateFacts(
  posts: Pick<
    ReturnType<typeof postColumnsOf>,
    'createdAtMs' | 'createdAtFraction' | 'extractedAtMs' | 'extractedAtFraction' | 'source' | 'galleryType'
  >,
): (row: number) => EntryFacts {
  return (row) => ({
    createdMs: (posts.createdAtMs[row] as number) + (posts.createdAtFraction[row] as number),
    extractedMs: (posts.extractedAtMs[row] as number) + (posts.extractedAtFraction[row] as number),
    source: posts.source[row] as number,
    galleryType: posts.galleryType[row] as number,
  })
}
