/**
 * The journal of one environment: the operations that its processes need. PostgreSQL implements it
 * (postgres-journal.ts), and a simulation with faults.
 */
import type { Change } from '../records/index.js'
import { RefusedChanges } from '../store-error.js'

/** An entry by number and token. Number 0 is before the first entry. */
export interface EntryMark {
  readonly number: number
  readonly token: string
}

/** The entry before the first one. */
export const originMark: EntryMark = { number: 0, token: '00000000-0000-0000-0000-000000000000' }

/** Without a renewal, another process takes over after this time. */
export const leaseMs = 20_000

/** The lease, as a process knows it after taking or renewing it. */
export interface Lease {
  readonly epoch: number
  readonly head: EntryMark
  /** Whether commits wait for another server of the database. */
  readonly isSynchronous: boolean
}

/** A commit of the owner. */
export interface NewEntry {
  readonly epoch: number
  /** The entry before this one. */
  readonly after: number
  readonly token: string
  readonly changes: readonly Change[]
}

/** The server refused a statement, by its contents or for lack of rights. Nothing of it is stored, or will be. */
export class Refusal extends RefusedChanges {
  /** Other writes will be refused too: rights or tables are missing, or a row has the number of the next entry. */
  readonly isOfAllWrites: boolean

  constructor(message: string, isOfAllWrites: boolean, cause: unknown) {
    super('failed', message, { cause })
    this.isOfAllWrites = isOfAllWrites
  }
}

/** The lease, as everyone can read it. */
export interface EnvironmentState extends Lease {
  readonly owner: string | null
  /** Measured on the database's clock; negative: it has expired. */
  readonly leaseMsLeft: number
  /** Whether `acquire` would succeed now. */
  readonly isFree: boolean
  /** Why this process could not write if it were the owner; null: nothing is known. */
  readonly problem: string | null
}

/** Receives some of the changes up to `head`. */
export type ApplyChanges = (changes: readonly Change[], isLast: boolean, head: EntryMark) => Promise<void>

/**
 * followed: the view is at `head`. diverged: an entry that the view has is not in the journal; the view must be emptied
 * and read again from entry 0.
 */
export type FollowResult =
  { readonly kind: 'followed'; readonly head: EntryMark } | { readonly kind: 'diverged' }

/**
 * Calls run one after the other. A call that rejects with a `Refusal` has stored nothing. One that rejects otherwise has an
 * unknown outcome: a commit may be stored, or may still become stored. A `renew` or an `acquire` that resolves afterwards is a
 * barrier: everything before it is durable, and in `head`.
 */
export interface Journal {
  readonly environment: string
  /** Names the environment: another one of the same name, in another database, has another id. */
  readonly id: string
  /**
   * Commits an entry. False: another process has become the owner, or other entries follow `after`; nothing is stored. The bytes of
   * the changes may be used again when the call has settled, also if it may still become stored.
   */
  append(entry: NewEntry): Promise<boolean>
  /** Extends the lease; null when another process has become the owner. */
  renew(epoch: number): Promise<Lease | null>
  /** Becomes the owner if the lease is free, or was held by `node` itself; null if not. */
  acquire(node: string): Promise<Lease | null>
  /** Frees the lease of this epoch immediately. */
  release(epoch: number): Promise<void>
  state(): Promise<EnvironmentState>
  /**
   * Gives the changes after `from` to `apply`, in batches, as of one moment. `partial`: the head of an earlier reading that
   * was interrupted; the view may have some of its changes.
   */
  follow(from: EntryMark, apply: ApplyChanges, partial?: EntryMark | null): Promise<FollowResult>
  /** Removes what is only needed by views that have not read for this long. False: there is more of it. */
  prune(epoch: number, olderThanMs: number): Promise<boolean>
  close(): Promise<void>
}
