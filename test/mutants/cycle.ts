/** Mutants of src/cycle, apart from those that only the simulation finds. */
import type { MutantGroup } from './mutant.js'

export const cycleMutants: readonly MutantGroup[] = [
  {
    file: 'src/cycle/clock-difference.ts',
    killedBy: ['src/cycle/clock-difference.test.ts'],
    mutants: [
      {
        breaks: 'a cycle within the tolerance is not refused',
        find: 'if (-differenceMs <= skewMs) return',
        replace: 'if (differenceMs >= 0) return',
      },
      {
        breaks: 'the difference is the smallest',
        find: 'Math.min(minute.differenceMs, differenceMs)',
        replace: 'differenceMs',
      },
      {
        breaks: 'the log has one warning in ten minutes',
        find: 'if (Math.abs(nowMs - this.#warnedAt) < warnEveryMs) return',
        replace: '',
      },
      {
        breaks: 'an hour is forgotten',
        find: 'index > now - windowMinutes && ',
        replace: '',
      },
    ],
  },
  {
    file: 'src/cycle/intake/check-times.ts',
    killedBy: ['src/cycle/service.test.ts'],
    mutants: [
      {
        breaks: 'a cycle_time is on a five-minute boundary',
        find: 'at.ms % cycleBoundaryMs !== 0 || at.fraction !== 0',
        replace: 'at.ms % 60_000 !== 0 || at.fraction !== 0',
      },
      {
        breaks: 'a cycle_time within the tolerated skew is accepted',
        find: 'if (at.ms > nowMs + skewMs) problems',
        replace: 'if (at.ms > nowMs) problems',
      },
      {
        breaks: 'the cycle_id is that of the cycle_time',
        find: 'if (cycleId !== expected) problems',
        replace: 'if (cycleId > expected) problems',
      },
      {
        breaks: 'an observation of exactly the cycle_time is accepted',
        find: 'if (compareInstants(at, cycleAt) > 0)',
        replace: 'if (compareInstants(at, cycleAt) >= 0)',
      },
    ],
  },
  {
    file: 'src/cycle/intake/intake.ts',
    killedBy: ['src/cycle/intake/intake.test.ts'],
    mutants: [
      {
        breaks: 'a repeat of a stored cycle needs no slot',
        find: "this.#slots.canAcquire(peekedId) || this.#idempotency.lookup(peekedId).kind !== 'unknown'",
        replace: 'this.#slots.canAcquire(peekedId)',
      },
    ],
  },
  {
    file: 'src/cycle/pipeline.ts',
    killedBy: ['src/cycle/pipeline.test.ts'],
    mutants: [
      {
        breaks: 'a model that fails a cycle degrades the service',
        find: 'failures.failed(cycle.cycleId, model, placed)',
        replace: '',
      },
      {
        breaks: 'a model that scores again no longer degrades the service',
        find: 'if (scoring.count > 0) failures.scored(model)',
        replace: '',
      },
      {
        breaks: 'a cycle without rows does not show that the model works again',
        find: 'if (scoring.count > 0) failures.scored(model)',
        replace: 'failures.scored(model)',
      },
      {
        breaks: 'a pool that lacks a stored cycle catches up before the next cycle',
        find: 'if (last > this.#pool.state.position) await',
        replace: 'if (last < this.#pool.state.position) await',
      },
      {
        breaks: 'a refused write is 503, not a bug',
        find: 'if (!(error instanceof StoreError)) throw error\n      throw new ServiceError(',
        replace: 'if (error instanceof StoreError) throw error\n      throw new ServiceError(',
      },
    ],
  },
  {
    file: 'src/cycle/stored-pool/load-pool.ts',
    killedBy: ['src/cycle/stored-pool/load-pool.test.ts'],
    mutants: [
      {
        breaks: 'a snapshot that is newer than its cycle is not used',
        find: 'if (position > last)',
        replace: 'if (position < last)',
      },
      {
        breaks: 'no cycle since the snapshot is left out',
        find: 'pool.state.position + 1, last',
        replace: 'pool.state.position + 2, last',
      },
      {
        breaks: 'a snapshot that differs from what its cycle recorded is not used',
        find: '  checkRecorded(pool, source.store)',
        replace: '',
      },
    ],
  },
  {
    file: 'src/cycle/stored-pool/pool-snapshots.ts',
    killedBy: ['src/cycle/stored-pool/pool-snapshots.test.ts'],
    mutants: [
      {
        breaks: 'a snapshot does not wait for a pause longer than eight cycles',
        find: 'cycles >= cyclesMax || ',
        replace: '',
      },
    ],
  },
  {
    file: 'src/cycle/service.ts',
    killedBy: ['src/cycle/service.test.ts'],
    mutants: [
      {
        breaks: 'settings of weights that wait have a bound',
        find: "this.#queue.count('weights') > weightsWaitingMax",
        replace: "this.#queue.count('weights') > 1e6",
      },
      {
        breaks: 'weights in the queue become current before a request for the current ones',
        find: "this.#queue.count('weights') > 0 ? null :",
        replace: "this.#queue.count('weights') < 0 ? null :",
      },
      {
        breaks: 'no model is 503',
        find: "throw new ServiceError('unavailable', 'no model is loaded')",
        replace: "throw new ServiceError('server_error', 'no model is loaded')",
      },
    ],
  },
  {
    file: 'src/cycle/embeddings/text-cache.ts',
    killedBy: ['src/cycle/embeddings/embeddings.test.ts'],
    mutants: [
      {
        breaks: 'a cycle that was not stored leaves no vectors',
        find: 'const forget = (): void => keys.forEach((key) => this.#forget(key))',
        replace: 'const forget = (): void => undefined',
      },
    ],
  },
  {
    file: 'src/cycle/embeddings/quarantine.ts',
    killedBy: ['src/cycle/embeddings/quarantine.test.ts'],
    mutants: [
      {
        breaks: 'an item is not quarantined because the process is down',
        find: 'if (!(error instanceof ModelError) || error instanceof ModelDownError) throw error\n      quarantine(row, error)',
        replace: 'quarantine(row, error as ModelError)',
      },
      {
        breaks: 'an encoder that fails on the control item is broken, and no item is the cause',
        find: 'for (const row of rows) this.#suspects.delete(keyOf(row))\n          throw broken',
        replace: 'return true',
      },
      {
        breaks: 'a quarantined item is not tried again',
        find: 'const rows = batch.filter((row) => !isIn(this.#quarantined, row))',
        replace: 'const rows = batch',
      },
    ],
  },
  {
    file: 'src/cycle/shadows.ts',
    killedBy: ['src/cycle/shadows.test.ts'],
    mutants: [
      {
        breaks: 'a shadow that is slow skips cycles',
        find: 'if (shadow.busy) {',
        replace: 'if (shadow.busy && shadow.skippedCount < 0) {',
      },
      {
        breaks: 'a shadow that failed scores the next cycle',
        find: 'shadow.busy = false\n      // Texts',
        replace: '// Texts',
      },
      {
        breaks: 'heads that a model lacks stay absent',
        find: 'return values === undefined ? null : Float32Array.from(values)',
        replace: 'return Float32Array.from(values ?? [])',
      },
    ],
  },
  {
    file: 'src/cycle/intake/admission-semaphore.ts',
    killedBy: ['src/cycle/intake/admission-semaphore.test.ts'],
    mutants: [
      {
        breaks: 'one cycle is in progress besides those that wait',
        find: 'this.#holderCounts.size <= this.#waitingMax()',
        replace: 'this.#holderCounts.size < this.#waitingMax()',
      },
      {
        breaks: 'a slot is released once',
        find: 'this.#slots.release(this.#held)\n    this.#held = null',
        replace: 'this.#slots.release(this.#held)',
      },
      {
        breaks: 'a call with another cycle id releases the slot of the first one',
        find: 'this.release()\n    this.#held = ',
        replace: 'this.#held = ',
      },
    ],
  },
  {
    file: 'src/cycle/results.ts',
    killedBy: ['src/cycle/service.test.ts'],
    mutants: [
      {
        breaks: 'an unknown post has the gallery of its row',
        find: 'next.galleries.length + (cycle.engagement.gallery[row] as number)',
        replace: '(cycle.engagement.gallery[row] as number)',
      },
    ],
  },
  {
    file: 'src/cycle/request-body.ts',
    killedBy: ['src/cycle/request-body.test.ts'],
    mutants: [
      {
        breaks: 'a body that arrives as gzip is stored in that gzip',
        find: 'if (gzip !== null) return',
        replace: 'if (gzip !== null && gzip.length > json.length) return',
      },
    ],
  },
  {
    file: 'src/cycle/scoring-models.ts',
    killedBy: ['src/cycle/pending-trial.test.ts'],
    mutants: [
      {
        breaks: 'a model that fails on pending posts replaces no other one',
        find: 'else await tryOnPending(model, state(), this.#parts)',
        replace: '',
      },
      {
        breaks: 'a shadow is tried on the pending posts',
        find: "await this.#warnOfFailure(model, 'the shadow fails on pending posts and will skip cycles', signal)\n",
        replace: '\n',
      },
      {
        breaks: 'a trial that is cancelled is not a warning',
        find: 'if (this.#endedOr(signal)()) return\n',
        replace: '\n',
      },
    ],
  },
  {
    file: 'src/cycle/pending-trial.ts',
    killedBy: ['src/cycle/pending-trial.test.ts'],
    mutants: [
      {
        breaks: 'posts are tried at the age of the next cycle too',
        find: '[scoring.cycleAtMs, scoring.cycleAtMs + cycleBoundaryMs]',
        replace: '[scoring.cycleAtMs]',
      },
      {
        breaks: 'posts without a reading are not tried',
        find: '!Number.isNaN(latest.observedAtMs[slot])',
        replace: 'slot >= 0',
      },
    ],
  },
]
