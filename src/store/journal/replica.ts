/**
 * One of the processes of an environment: its view of the journal, its role and its lease. A standby reads what the owner
 * commits. When the lease is free, it takes it, reads the rest, and becomes the owner. An owner that does not know the
 * outcome of a commit serves no requests until it has reacquired the lease and read the journal to its head.
 */
import { randomUUID } from 'node:crypto'
import { inBackground } from '../../base/index.js'
import { assert } from '../../contract/index.js'
import type { Change } from '../records/index.js'
import { StoreError } from '../store-error.js'
import type { EnvironmentRole, FollowedChanges, Replication } from '../store.js'
import { JournalProblems } from './journal-problems.js'
import { leaseMs, Refusal, type Lease } from './journal.js'
import type { ReplicaParts } from './replica-parts.js'
import * as times from './times.js'
import { View } from './view.js'

/**
 * standby: another process is the owner, or none. uncertain: this one holds the lease, and must take it again. following: it
 * reads what the journal holds. preparing: the view is complete, and memory is brought up to date; writes are allowed.
 */
type Phase = 'standby' | 'uncertain' | 'following' | 'preparing' | 'owner'

export class Replica implements EnvironmentRole {
  readonly #parts: ReplicaParts
  readonly #listeners: ((changes: FollowedChanges) => Promise<void>)[] = []
  readonly #view: View
  #phase: Phase = 'standby'
  /** Null in the phase `standby`. */
  #lease: Lease | null = null
  #validUntil = -Infinity
  #holdOffUntil = -Infinity
  /** The owner leaves the environment then, unless it can serve. */
  #leaveAt = Infinity
  #prunedAt = -Infinity
  /** The newest one that this process knows. */
  #epoch = 0
  #isSynchronous = true
  #startedAt = Infinity
  readonly #problems: JournalProblems
  /** Settles when no commit and no reading of the journal is in progress. */
  #viewInUse: Promise<unknown> = Promise.resolve()
  #settling: Promise<void> = Promise.resolve()
  #running: Promise<void> = Promise.resolve()
  /** Called after the next poll of the journal. */
  readonly #waiting: (() => void)[] = []
  readonly #ended = new AbortController()
  #wake = new AbortController()

  constructor(parts: ReplicaParts) {
    this.#parts = parts
    this.#view = new View(parts)
    this.#problems = new JournalProblems(parts.log)
  }

  get role(): 'owner' | 'standby' {
    return this.#phase === 'owner' && this.#parts.now() < this.#validUntil ? 'owner' : 'standby'
  }

  /** Whether writes are allowed: by the owner, and by listeners while it prepares itself. */
  get mayWrite(): boolean {
    return this.#phase === 'preparing' || this.#phase === 'owner'
  }

  get replication(): Replication {
    const { number: entry } = this.#view.mark
    return { epoch: this.#epoch, entry, isSynchronous: this.#isSynchronous, problem: this.#problems.message }
  }

  /** False while the server refuses all writes. */
  get isHealthy(): boolean {
    return !this.#problems.refusesAllWrites
  }

  onFollowed(listener: (changes: FollowedChanges) => Promise<void>): void {
    this.#listeners.push(listener)
  }

  /** Reads the view up to the head of the journal, then follows it, or owns it, until `stop`. */
  async start(): Promise<void> {
    await this.#follow()
    this.#startedAt = this.#parts.now()
    this.#running = this.#run()
    inBackground('journal', this.#running)
  }

  /** Polls the lease immediately. Resolves when this process is the owner, when it cannot be, or after some seconds. */
  async tryToOwn(): Promise<void> {
    await Promise.race([this.#attempt(), this.#parts.sleep(times.attemptMsMax, this.#ended.signal)])
  }

  async #attempt(): Promise<void> {
    // A poll that is in progress may have begun too early.
    for (let poll = 0; poll < 2 && !this.#isEnding(); poll++) {
      const ended = new Promise<void>((resolve) => this.#waiting.push(resolve))
      this.#wake.abort()
      await ended
    }
    await this.#settling
  }

  /** Throws a StoreError `standby` if nothing may be written. */
  checkMayWrite(): void {
    if (!this.mayWrite) throw standbyError()
  }

  /**
   * Commits changes to the journal, then to the view. Rejects with a StoreError: `standby` if another process is the owner;
   * `failed` if the outcome is unknown, and with a `Refusal` if nothing was stored. One at a time.
   */
  commit(changes: readonly Change[]): Promise<void> {
    return this.#withView(async () => {
      this.checkMayWrite()
      const lease = this.#lease
      assert(lease !== null, 'a process that may write holds the lease')
      const { journal, now } = this.#parts
      const after = this.#view.mark.number
      const token = randomUUID()
      const startedAt = now()
      let isStored: boolean
      try {
        isStored = await journal.append({ epoch: lease.epoch, after, token, changes })
      } catch (error) {
        if (error instanceof Refusal) {
          this.#problems.writeRefused(error)
          if (error.isOfAllWrites) this.#wake.abort()
          throw error
        }
        this.#becomeUncertain(lease, error)
        throw new StoreError('failed', 'the outcome of a write to the journal is unknown', { cause: error })
      }
      if (!isStored) {
        this.#lose(lease, 'another process has become the owner')
        throw standbyError()
      }
      this.#extend(lease, startedAt)
      this.#problems.endRefusal()
      try {
        assert(this.#view.mark.number === after, 'one commit at a time moves the view')
        await this.#view.apply(changes, { number: after + 1, token })
      } catch (error) {
        this.#becomeUncertain(lease, error)
        throw error
      }
    })
  }

  /** Frees the lease, so that a standby takes over immediately. Nothing is written after it. */
  async stop(): Promise<void> {
    const { journal, sleep, log } = this.#parts
    this.#ended.abort()
    this.#wake.abort()
    const idle = Promise.allSettled([this.#running]).then(() => Promise.allSettled([this.#settling]))
    await Promise.race([idle, sleep(times.stopMsMax)])
    const lease = this.#lease
    this.#lease = null
    this.#phase = 'standby'
    if (lease === null) return
    const releasing = journal.release(lease.epoch).catch((error: unknown) => {
      log.warn({ err: error }, 'the lease could not be released: a standby takes over when it expires')
    })
    await Promise.race([releasing, sleep(times.stopMsMax)])
  }

  // ---- the loop

  async #run(): Promise<void> {
    try {
      await this.#loop()
    } finally {
      for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  async #loop(): Promise<void> {
    const { sleep } = this.#parts
    while (!this.#isEnding()) {
      this.#wake = new AbortController()
      try {
        await (this.#lease === null ? this.#standBy() : this.#renew(this.#lease))
        this.#problems.useSucceeded()
      } catch (error) {
        this.#problems.useFailed(error)
        this.#loseIfExpired()
      }
      for (const resolve of this.#waiting.splice(0)) resolve()
      if (this.#isEnding()) return
      const isUndisturbed = this.#phase === 'owner' && !this.#problems.hasLastUseFailed && this.isHealthy
      await sleep(isUndisturbed ? times.renewMs : times.pollMs, this.#wake.signal)
    }
  }

  #noteReplication(isSynchronous: boolean): void {
    const { journal, log } = this.#parts
    if (this.#isSynchronous && !isSynchronous)
      log.warn(
        { environment: journal.environment },
        'PostgreSQL has no synchronous standby: if its disk fails, acknowledged cycles are lost',
      )
    this.#isSynchronous = isSynchronous
  }

  #isEnding(): boolean {
    return this.#ended.signal.aborted
  }

  async #standBy(): Promise<void> {
    const { journal, now, log } = this.#parts
    const { head, isFree, owner, epoch, leaseMsLeft, isSynchronous, problem } = await journal.state()
    this.#epoch = epoch
    this.#noteReplication(isSynchronous)
    const { mark, isMemoryStale } = this.#view
    if (isMemoryStale || head.number !== mark.number || head.token !== mark.token) await this.#follow()
    if (problem !== null) throw new StoreError('unusable', problem)
    // After a takeover that failed, an acquisition that only finds the lease taken shows that the next one can succeed.
    if (!isFree && owner !== this.#view.node && !this.#problems.hasTakeoverFailed) return
    const isYielding = leaseMsLeft > -times.yieldMs || now() - this.#startedAt < times.yieldMs
    if (isYielding && !(await this.#parts.canServe())) return
    if (!this.#view.isHealthy || now() < this.#holdOffUntil || this.#isEnding()) return
    const startedAt = now()
    const lease = await this.#acquire()
    if (lease === null) return
    if (this.#isEnding()) {
      await journal.release(lease.epoch)
      return
    }
    assert(this.#lease === null, 'a standby holds no lease')
    this.#hold(lease, startedAt)
    log.info(
      { environment: journal.environment, epoch: lease.epoch, after: owner },
      'taking over the environment',
    )
    this.#settle(lease)
  }

  async #acquire(): Promise<Lease | null> {
    try {
      const lease = await this.#parts.journal.acquire(this.#view.node)
      if (lease === null) this.#problems.takeoverCanSucceed()
      return lease
    } catch (error) {
      this.#problems.takeoverFailed(error)
      throw error
    }
  }

  async #renew(lease: Lease): Promise<void> {
    const { journal, now } = this.#parts
    const startedAt = now()
    // A statement that the server executes late has the epoch of before, and changes nothing.
    const isUncertain = this.#phase === 'uncertain'
    const renewed = await (isUncertain ? this.#acquire() : journal.renew(lease.epoch))
    if (renewed === null) {
      this.#lose(lease, 'another process has become the owner')
      return
    }
    if (this.#lease !== lease) {
      // It was stopped meanwhile.
      if (isUncertain) await journal.release(renewed.epoch)
      return
    }
    assert(isUncertain || renewed.epoch === lease.epoch, 'a renewal does not change the epoch')
    this.#hold(renewed, startedAt)
    if (isUncertain) this.#settle(renewed)
    else if (this.#phase === 'owner') {
      if (!this.isHealthy) await this.#problems.checkRefusal(journal)
      if (now() - this.#prunedAt > times.pruneMs && (await journal.prune(renewed.epoch, times.pruneAgeMs)))
        this.#prunedAt = now()
      await this.#leaveIfUnable(renewed)
    }
  }

  async #leaveIfUnable(lease: Lease): Promise<void> {
    const { canServe, journal, now, log } = this.#parts
    if (await canServe()) this.#leaveAt = now() + times.unableMsMax
    if (now() < this.#leaveAt || !this.#isIn('owner', lease)) return
    log.error({ epoch: lease.epoch }, 'cannot serve; releasing the lease')
    this.#lose(lease, 'it cannot serve')
    await journal.release(lease.epoch)
  }

  /**
   * Brings view and memory to the head of the journal, in the background, as the lease is renewed meanwhile. `lease` is a
   * barrier: it was committed cleanly after everything that is in doubt.
   */
  #settle(lease: Lease): void {
    this.#phase = 'following'
    this.#settling = this.#settling
      .catch(() => undefined)
      .then(() => this.#prepare(lease))
      .then(() => this.#wake.abort())
      .catch((error: unknown) => this.#giveUp(lease, error))
    inBackground('journal', this.#settling)
  }

  async #prepare(lease: Lease): Promise<void> {
    const { journal, log } = this.#parts
    if (!this.#isIn('following', lease)) return
    await this.#follow()
    const { number, token } = this.#view.mark
    if (token !== lease.head.token)
      throw new StoreError('failed', 'another process has written to the journal')
    if (!this.#isIn('following', lease)) return
    this.#phase = 'preparing'
    await this.#notify({ isComplete: false, imagesStored: [], imagesRemoved: [] })
    if (!this.#isIn('preparing', lease)) return
    this.#phase = 'owner'
    this.#problems.takeoverCanSucceed()
    this.#leaveAt = this.#parts.now() + times.neverAbleMsMax
    log.info({ environment: journal.environment, epoch: lease.epoch, entry: number }, 'became owner')
  }

  /** Tries again if the journal cannot be reached; otherwise leaves the lease to another process. */
  async #giveUp(lease: Lease, error: unknown): Promise<void> {
    const { journal, now, log } = this.#parts
    if (this.#lease?.epoch !== lease.epoch || this.#phase === 'uncertain') return
    this.#problems.takeoverFailed(error)
    const isRefused = error instanceof Refusal
    if (error instanceof StoreError && error.code === 'failed' && !isRefused && this.#view.isHealthy) {
      log.warn({ err: error, epoch: lease.epoch }, 'the takeover was interrupted; trying again')
      this.#phase = 'uncertain'
      return
    }
    // The listeners run again, so that a cause which lasts is noticed before the next attempt.
    this.#view.isMemoryStale = true
    log.error({ err: error, epoch: lease.epoch }, 'this process cannot become the owner')
    this.#holdOffUntil = now() + times.holdOffMs
    this.#lose(lease, 'the takeover failed')
    // It expires otherwise.
    await journal.release(lease.epoch).catch(() => undefined)
  }

  #isIn(phase: Phase, lease: Lease): boolean {
    return this.#phase === phase && this.#lease?.epoch === lease.epoch
  }

  #hold(lease: Lease, startedAt: number): void {
    this.#lease = lease
    this.#epoch = lease.epoch
    this.#noteReplication(lease.isSynchronous)
    this.#extend(lease, startedAt)
  }

  #extend(lease: Lease, startedAt: number): void {
    if (this.#lease?.epoch === lease.epoch) this.#validUntil = startedAt + leaseMs - times.leaseMarginMs
  }

  #becomeUncertain(lease: Lease, error: unknown): void {
    if (this.#lease?.epoch !== lease.epoch) return
    this.#phase = 'uncertain'
    this.#parts.log.warn(
      { err: error, epoch: lease.epoch },
      'commit outcome unknown; requests receive 503 until it is resolved',
    )
    this.#wake.abort()
  }

  #lose(lease: Lease, reason: string): void {
    if (this.#lease?.epoch !== lease.epoch) return
    this.#lease = null
    this.#phase = 'standby'
    this.#validUntil = -Infinity
    this.#problems.endRefusal()
    this.#parts.log.warn({ epoch: lease.epoch, reason }, 'became standby')
    this.#wake.abort()
  }

  #loseIfExpired(): void {
    const lease = this.#lease
    if (lease !== null && this.#parts.now() >= this.#validUntil)
      this.#lose(lease, 'the lease could not be renewed')
  }

  // ---- reading

  /** Reads the journal up to its head, and then calls the listeners: they may wait for a cycle that is being committed. */
  async #follow(): Promise<void> {
    const changes = await this.#withView(() => this.#view.read())
    if (changes === null) return
    await this.#notify(changes).catch((error: unknown) => {
      this.#view.isMemoryStale = true
      throw error
    })
  }

  /** Runs `work` when no other one reads the journal into the view, or commits. */
  #withView<Result>(work: () => Promise<Result>): Promise<Result> {
    const working = this.#viewInUse.then(work)
    this.#viewInUse = working.catch(() => undefined)
    return working
  }

  async #notify(changes: FollowedChanges): Promise<void> {
    for (const listener of this.#listeners) await listener(changes)
  }
}

function standbyError(): StoreError {
  return new StoreError('standby', 'another process is the owner of this environment')
}
