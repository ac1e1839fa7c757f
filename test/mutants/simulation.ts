/** Mutants that the simulation finds: each breaks a promise about failures, restarts or concurrent calls. */
import type { MutantGroup } from './mutant.js'

export const simulationMutants: readonly MutantGroup[] = [
  {
    file: 'src/cycle/pipeline.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'a failed write leaves memory as it was',
        find: 'const position = await this.#parts.store.appendCycle(record)',
        replace:
          'this.#pool.publish(plan)\n      const position = await this.#parts.store.appendCycle(record)',
        also: [{ find: '    }\n    this.#pool.publish(plan)\n  }', replace: '    }\n  }' }],
      },
      { breaks: 'a 200 is durable', find: 'await this.#commit(plan,', replace: 'void this.#commit(plan,' },
      {
        breaks: 'a write that is reported as failed but is stored counts',
        find: 'this.#resynchronise(plan, record.cycleId)',
        replace: '',
      },
      {
        breaks: 'a failed cycle leaves no texts behind',
        find: 'texts?.forget()',
        replace: '',
      },
    ],
  },
  {
    file: 'src/cycle/intake/idempotency.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'a cycle that failed can be sent again',
        find: 'response.then(end, end)',
        replace: 'response.then(end, () => undefined)',
      },
      {
        breaks: 'calls with one id are processed once',
        find: 'this.#flights.set(cycleId, { cycleId, body, response })',
        replace: '',
      },
      {
        breaks: 'a stored cycle with another body is 409',
        find: 'if (fields.length > 0)',
        replace: 'if (fields.length < 0)',
      },
      {
        breaks: 'an expired cycle gets 409',
        find: "kind: this.#store.expiry.isExpired(cycleId) ? 'expired' : 'unknown'",
        replace: "kind: 'unknown'",
      },
    ],
  },
  {
    file: 'src/cycle/stored-weights.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'weights whose write is reported as failed but is stored count',
        find: 'if (!this.#store.closed) this.#read()',
        replace: '',
      },
    ],
  },
  {
    file: 'src/pool/weights.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'weights begin after the newest stored cycle',
        find: 'nextBoundary(Math.max(nowMs, newestCycleMs))',
        replace: 'nextBoundary(Math.min(nowMs, newestCycleMs))',
      },
    ],
  },
  {
    file: 'src/pool/pool.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'engagement of a removed post is not that of a post never seen',
        find: 'this.#tombstones.add(plan.entries.left, plan.leftAtMs)',
        replace: '',
      },
    ],
  },
  {
    file: 'src/pool/kept-readings.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'a late cycle never replaces a newer reading',
        find: 'if (order < 0) lateSlots.push(slot)\n    else latestSources',
        replace: 'latestSources',
      },
    ],
  },
  {
    file: 'src/cycle/stored-pool/snapshot.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'removed posts are known after a restart',
        find: 'tombstones.add(posts, leftAtMs)',
        replace: 'void [posts, leftAtMs]',
      },
      {
        breaks: 'the last two readings are known after a restart',
        find: 'latest: group(readingNames)',
        replace: 'previous: group(readingNames)',
        also: [
          {
            find: '    previous: group(readingNames),\n    snapshot',
            replace: '    latest: group(readingNames),\n    snapshot',
          },
        ],
      },
    ],
  },
  {
    file: 'src/cycle/scoring-models.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'nothing reads a body after its call has ended',
        find: 'enteringRecords(json, cycle, plan).map((record) => Uint8Array.from(record))',
        replace: 'enteringRecords(json, cycle, plan)',
      },
      {
        breaks: 'one version scores a whole cycle',
        find: "await queue.run('model', async () => {",
        replace: 'await (async () => {',
        also: [{ find: 'takeOver()\n      })', replace: 'takeOver()\n      })()' }],
      },
    ],
  },
  {
    file: 'src/cycle/intake/idempotency.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'of two bodies at once one gets 409',
        find: 'Buffer.compare(known.flight.body, body.json) === 0',
        replace: 'known.flight.body.length > 0',
      },
    ],
  },
  {
    file: 'src/cycle/service.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'an acknowledged image counts in the next cycle',
        find: 'this.images.add(key)',
        replace: '',
      },
    ],
  },
  {
    file: 'src/cycle/retention.ts',
    killedBy: 'simulation',
    mutants: [
      {
        breaks: 'one clock that jumps ahead expires nothing',
        find: 'Math.min(Date.parse(last.receivedAt), this.#parts.state().newestCycleMs)',
        replace: 'Math.max(Date.parse(last.receivedAt), this.#parts.state().newestCycleMs)',
      },
      {
        breaks: 'a cycle is kept if one of its times is recent',
        find: 'Math.max(Date.parse(receivedAt), cycleAtMs) >= beforeMs',
        replace: 'cycleAtMs >= beforeMs',
      },
      {
        breaks: 'cycles are kept for as long as departures are remembered',
        find: 'Math.max(days, cycleDaysMin) * dayMs',
        replace: 'days * dayMs',
      },
      {
        breaks: 'the entry of a pending post is kept when its cycle expires',
        find: 'keepEntry: needed.has(position)',
        replace: 'keepEntry: false',
      },
      {
        breaks: 'the entry of a pending post is kept after its cycle has expired',
        find: 'kept.filter((position) => !needed.has(position))',
        replace: 'kept',
      },
      {
        breaks: 'an entry is removed when its posts have left',
        find: 'await this.#entries(expiry)',
        replace: '',
      },
      {
        breaks: 'images of pending posts and of recent departures are kept',
        find: ' && !isRecent(key.gallId, key.postNo)',
        replace: '',
      },
      {
        breaks: 'images whose removal fails late but is stored are not counted',
        find: '} finally {\n        // A write that failed late',
        replace:
          '} catch (error) {\n        throw error\n      }\n      {\n        // A write that failed late',
      },
      {
        breaks: 'a search of images starts again after the last one',
        find: 'this.#cursors[kind] = cursor\n',
        replace: 'this.#cursors[kind] = cursor ?? this.#cursors[kind]\n',
      },
      {
        breaks: 'an outcome is as old as its last report',
        find: 'Math.max(placedAtMs(record), arrivedAtMs ?? -Infinity)',
        replace: 'placedAtMs(record)',
      },
      {
        breaks: 'the next cycle removes more',
        find: '      this.#working = null\n',
        replace: '',
      },
    ],
  },
]
