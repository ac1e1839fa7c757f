/**
 * Numbers for the posts and entries of the records of cycles. An entry is one candidate row as a request brought it: a post
 * that comes back has one number and two entries. Columns grow while records are read.
 */
import { absentCode } from '../../contract/index.js'
import { PostMap } from '../../pool/index.js'
import { readCycleTable, type CycleRows } from '../../records/index.js'
import type { Position, Store } from '../../store/index.js'

export class RecordedEntries {
  /** One per post; null for a post of an expired record, until a removal names it. */
  readonly gallIds: (string | null)[] = []
  readonly postNos: (number | null)[] = []
  /** One per entry. `position`: of the cycle that brought the candidate. */
  readonly post: number[] = []
  readonly position: Position[] = []
  /** Row among the candidates of that cycle. */
  readonly row: number[] = []
  /** Milliseconds since 1970 with a fraction; NaN for null and for an entry of an expired record. */
  readonly createdMs: number[] = []
  readonly extractedMs: number[] = []
  /** Indexes in `sourceCodes` and `galleryTypeCodes`; `absentCode` if absent or unknown. */
  readonly source: number[] = []
  readonly galleryType: number[] = []
  readonly #store: Store
  readonly #byName = new PostMap<string, number>()
  /** Entries by position and row; rows beyond the entered posts are candidates that did not enter. */
  readonly #at = new Map<Position, number[]>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The number of a post; a new one if no record named the post so far. */
  postOf(gallId: string, postNo: number): number {
    const known = this.#byName.get(gallId, postNo)
    if (known !== undefined) return known
    const post = this.#addPost(gallId, postNo)
    this.#byName.set(gallId, postNo, post)
    return post
  }

  /** The entries of the candidates of a record. */
  add(position: Position, candidates: CycleRows<'candidates'>): readonly number[] {
    const known = this.#at.get(position)
    if (known !== undefined) return known
    const { gall_id, post_no, created_at, extracted_at, source, gallery_type } = candidates
    const entries = Array.from(post_no, (number, row) => {
      const post = this.postOf(gall_id[row] ?? '', number)
      this.createdMs.push(created_at[row]!)
      this.extractedMs.push(extracted_at[row]!)
      this.source.push(source[row]!)
      this.galleryType.push(gallery_type[row]!)
      this.position.push(position)
      this.row.push(row)
      return this.post.push(post) - 1
    })
    this.#at.set(position, entries)
    return entries
  }

  /** The entry in a row of the candidates at a position, even if its record has expired. */
  at(position: Position, row: number): number {
    const entries = this.#entriesAt(position)
    return (entries[row] ??= this.#addUnknown(position, row))
  }

  ofRows({ count, entered_position, entered_row }: CycleRows<'results'>): Int32Array {
    const entryOfRow = new Int32Array(count)
    let position = NaN
    let entries: readonly number[] = []
    for (let row = 0; row < entryOfRow.length; row++) {
      // Pending posts are in order of entry: one look-up serves many rows.
      if (entered_position[row] !== position) {
        position = entered_position[row]!
        entries = this.#entriesAt(position)
      }
      const candidate = entered_row[row]!
      entryOfRow[row] = entries[candidate] ?? this.at(position, candidate)
    }
    return entryOfRow
  }

  /** Names the post of an entry, if no record did and the name is not that of another post. Returns the post. */
  name(entry: number, gallId: string, postNo: number): number {
    const post = this.post[entry]!
    if (this.gallIds[post] === null && this.#byName.get(gallId, postNo) === undefined) {
      this.gallIds[post] = gallId
      this.postNos[post] = postNo
      this.#byName.set(gallId, postNo, post)
    }
    return post
  }

  #entriesAt(position: Position): number[] {
    if (!this.#at.has(position)) {
      const record = this.#store.readRecord(position)
      if (record === undefined) this.#at.set(position, [])
      else this.add(position, readCycleTable(record, 'candidates'))
    }
    return this.#at.get(position)!
  }

  #addPost(gallId: string | null, postNo: number | null): number {
    this.postNos.push(postNo)
    return this.gallIds.push(gallId) - 1
  }

  #addUnknown(position: Position, row: number): number {
    for (const times of [this.createdMs, this.extractedMs]) times.push(NaN)
    for (const codes of [this.source, this.galleryType]) codes.push(absentCode)
    this.position.push(position)
    this.row.push(row)
    return this.post.push(this.#addPost(null, null)) - 1
  }
}
