/**
 * Mutants for the simulation to find: each breaks one promise by a small change to the built sources, as a hurried edit
 * might. `file` is a path in dist; `from` occurs in it exactly once.
 */

export interface Mutant {
  readonly name: string
  /** The guarantee that it breaks. */
  readonly breaks: string
  readonly patches: readonly { readonly file: string; readonly from: string; readonly to: string }[]
}

export const mutants: readonly Mutant[] = [
  {
    name: 'publish-before-commit',
    breaks: 'a failed write leaves memory as it was',
    patches: [
      {
        file: 'cycle/pipeline.js',
        from: 'const position = await this.#parts.store.appendCycle(record);',
        to: 'this.#pool.publish(plan); const position = await this.#parts.store.appendCycle(record);',
      },
      { file: 'cycle/pipeline.js', from: '        }\n        this.#pool.publish(plan);', to: '        }' },
    ],
  },
  {
    name: 'answer-before-commit',
    breaks: 'a 200 is durable',
    patches: [
      {
        file: 'cycle/pipeline.js',
        from: 'await this.#commit(plan,',
        to: 'void this.#commit(plan,',
      },
    ],
  },
  {
    name: 'failed-request-remains',
    breaks: 'a cycle that failed can be sent again',
    patches: [
      {
        file: 'cycle/intake/idempotency.js',
        from: 'response.then(end, end);',
        to: 'response.then(end, () => undefined);',
      },
    ],
  },
  {
    name: 'no-coalescing',
    breaks: 'calls with one id are processed once',
    patches: [
      {
        file: 'cycle/intake/idempotency.js',
        from: 'this.#flights.set(cycleId, { cycleId, body, response, waiterCount: 0 });',
        to: '',
      },
    ],
  },
  {
    name: 'retry-not-compared',
    breaks: 'a stored cycle with another body is 409',
    patches: [
      {
        file: 'cycle/intake/idempotency.js',
        from: 'if (fields.length > 0)',
        to: 'if (false)',
      },
    ],
  },
  {
    name: 'coalesced-body-not-compared',
    breaks: 'of two bodies at once one gets 409',
    patches: [{ file: 'cycle/intake/idempotency.js', from: 'if (isSame)', to: 'if (true)' }],
  },
  {
    name: 'resync-missing',
    breaks: 'a write that fails late but is stored counts',
    patches: [{ file: 'cycle/pipeline.js', from: 'this.#resynchronise(record.cycleId);', to: '' }],
  },
  {
    name: 'weights-resync-missing',
    breaks: 'weights whose write fails late but is stored count',
    patches: [
      {
        file: 'cycle/stored-weights.js',
        from: 'this.#history = this.#store.listWeights();',
        to: '{}',
      },
    ],
  },
  {
    name: 'wrong-weights-at-the-boundary',
    breaks: 'weights apply from their first cycle on',
    patches: [
      {
        file: 'pool/weights.js',
        from: 'entry.firstCycleMs <= cycleMs',
        to: 'entry.firstCycleMs < cycleMs',
      },
    ],
  },
  {
    name: 'weights-before-the-newest-cycle',
    breaks: 'weights begin after the newest stored cycle',
    patches: [
      {
        file: 'pool/weights.js',
        from: 'nextBoundary(Math.max(nowMs, newestCycleMs))',
        to: 'nextBoundary(Math.min(nowMs, newestCycleMs))',
      },
    ],
  },
  {
    name: 'no-tombstones',
    breaks: 'engagement of a removed post is not that of a post never seen',
    patches: [
      { file: 'pool/pool.js', from: 'this.#tombstones.add(plan.entries.left, plan.leftAtMs);', to: '' },
    ],
  },
  {
    name: 'tombstones-lost-at-restart',
    breaks: 'removed posts are known after a restart',
    patches: [{ file: 'cycle/saved-state.js', from: 'tombstones.add(posts, leftAtMs);', to: '' }],
  },
  {
    name: 'readings-swapped-at-restart',
    breaks: 'the last two readings are known after a restart',
    patches: [
      {
        file: 'cycle/saved-state.js',
        from: 'latest: group(readingNames)',
        to: 'previous: group(readingNames)',
      },
      {
        file: 'cycle/saved-state.js',
        from: '        previous: group(readingNames),\n        snapshot',
        to: '        latest: group(readingNames),\n        snapshot',
      },
    ],
  },
  {
    name: 'late-reading-replaces-newer',
    breaks: 'a late cycle never replaces a newer reading',
    patches: [{ file: 'pool/kept-readings.js', from: 'if (order < 0)', to: 'if (false)' }],
  },
  {
    name: 'shadow-reads-reused-body',
    breaks: 'nothing reads a body after its call has ended',
    patches: [
      {
        file: 'cycle/scoring-models.js',
        from: 'enteringRecords(json, cycle, plan).map((record) => Uint8Array.from(record))',
        to: 'enteringRecords(json, cycle, plan)',
      },
    ],
  },
  {
    name: 'texts-of-a-failed-cycle-kept',
    breaks: 'a failed cycle leaves no texts behind',
    patches: [{ file: 'cycle/pipeline.js', from: 'embeddings.forgetEntering(model, texts);', to: '' }],
  },
  {
    name: 'model-changes-within-a-cycle',
    breaks: 'one version scores a whole cycle',
    patches: [
      {
        file: 'cycle/scoring-models.js',
        from: "await queue.run('model', async () => {",
        to: 'await (async () => {',
      },
      {
        file: 'cycle/scoring-models.js',
        from: 'takeOver();\n            });',
        to: 'takeOver();\n            })();',
      },
    ],
  },
  {
    name: 'queue-stops-at-a-failure',
    breaks: 'the service is usable after a failure',
    patches: [
      { file: 'cycle/intake/serial-queue.js', from: 'done.then(remove, remove)', to: 'done.then(remove)' },
    ],
  },
  {
    name: 'images-are-not-counted',
    breaks: 'an acknowledged image counts in the next cycle',
    patches: [{ file: 'cycle/service.js', from: 'this.images.add(key);', to: '' }],
  },
  {
    name: 'pool-does-not-retain-its-arena',
    breaks: 'the pool keeps its values while later cycles use memory again',
    patches: [
      { file: 'pool/pool.js', from: 'plan.arena.retain();', to: '' },
      { file: 'pool/pool.js', from: 'this.#arena?.release();', to: '' },
    ],
  },
  {
    name: 'shadow-does-not-retain-the-arena',
    breaks: 'a shadow scores the cycle that it was given',
    patches: [
      { file: 'cycle/scoring-models.js', from: 'arena.retain();', to: '' },
      { file: 'cycle/scoring-models.js', from: '.finally(() => arena.release())', to: '' },
    ],
  },
]
