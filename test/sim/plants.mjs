/**
 * Bugs for the simulation to find: each breaks one promise by a small change to the built sources, the kind of slip
 * that a hurried edit makes. `file` is a path in dist, `from` stands there exactly once.
 */

/** @type {{ name: string, breaks: string, patches: { file: string, from: string, to: string }[] }[]} */
export const plants = [
  {
    name: 'publish-before-commit',
    breaks: 'a failed write leaves memory as it was',
    patches: [
      {
        file: 'cycle/cycle-line.js',
        from: 'const position = await this.#parts.store.appendCycle(record);',
        to: 'this.#pool.publish(plan); const position = await this.#parts.store.appendCycle(record);',
      },
      { file: 'cycle/cycle-line.js', from: '        }\n        this.#pool.publish(plan);', to: '        }' },
    ],
  },
  {
    name: 'answer-before-commit',
    breaks: 'a 200 is durable',
    patches: [
      {
        file: 'cycle/cycle-line.js',
        from: 'await this.#commit(cycle.cycleId,',
        to: 'void this.#commit(cycle.cycleId,',
      },
    ],
  },
  {
    name: 'forgotten-leader',
    breaks: 'a cycle that failed can be sent again',
    patches: [
      {
        file: 'cycle/repeats.js',
        from: 'response.then(end, end);',
        to: 'response.then(end, () => undefined);',
      },
    ],
  },
  {
    name: 'no-leader',
    breaks: 'calls with one id are processed once',
    patches: [
      {
        file: 'cycle/repeats.js',
        from: 'this.#leaders.set(cycleId, leader);',
        to: '',
      },
    ],
  },
  {
    name: 'replay-compares-nothing',
    breaks: 'a stored cycle with another body is 409',
    patches: [
      {
        file: 'cycle/repeats.js',
        from: 'if (!(await sameJsonOffThread(await unpackRequest(request), json)))',
        to: 'await unpackRequest(request); if (false)',
      },
      { file: 'cycle/repeats.js', from: 'if (isSame === false)', to: 'if (false)' },
    ],
  },
  {
    name: 'follower-compares-nothing',
    breaks: 'of two bodies at once one gets 409',
    patches: [{ file: 'cycle/repeats.js', from: 'if (isSame)', to: 'if (true)' }],
  },
  {
    name: 'resync-missing',
    breaks: 'a write that fails late but is stored counts',
    patches: [{ file: 'cycle/cycle-line.js', from: 'this.#resync(cycleId);', to: '' }],
  },
  {
    name: 'weights-resync-missing',
    breaks: 'weights whose write fails late but is stored count',
    patches: [
      {
        file: 'cycle/weights-desk.js',
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
    name: 'weights-overtake-the-newest-cycle',
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
    name: 'reused-column-memory',
    breaks: 'the columns of the current state are nobody else’s',
    patches: [
      {
        file: 'pool/pool.js',
        from: 'this.#spare = this.#memory;',
        to: 'this.#spare = this.#plans.get(plan) ?? null;',
      },
    ],
  },
  {
    name: 'tombstones-lost-at-restart',
    breaks: 'a restart knows who was removed',
    patches: [{ file: 'cycle/saved-state.js', from: 'tombstones.bury(keys, leftAtMs);', to: '' }],
  },
  {
    name: 'readings-swapped-at-restart',
    breaks: 'a restart knows the last two readings',
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
    patches: [
      { file: 'pool/kept-readings.js', from: 'order !== null && order >= 0)', to: 'order !== null)' },
    ],
  },
  {
    name: 'shadow-reads-released-columns',
    breaks: 'a shadow scores what the cycle held',
    patches: [{ file: 'cycle/scoring-models.js', from: 'held.readers++;', to: '' }],
  },
  {
    name: 'shadow-reads-reused-columns',
    breaks: 'a shadow that is late leaves the cycle out',
    patches: [{ file: 'cycle/shadows.js', from: 'readable() ? this', to: 'true ? this' }],
  },
  {
    name: 'shadow-reads-reused-body',
    breaks: 'nothing depends on a body when its call has ended',
    patches: [
      {
        file: 'cycle/scoring-models.js',
        from: 'recordsOf(json, cycle, plan).map((record) => Uint8Array.from(record))',
        to: 'recordsOf(json, cycle, plan)',
      },
    ],
  },
  {
    name: 'texts-of-a-failed-cycle-stay',
    breaks: 'what entered with a cycle that failed did not enter',
    patches: [{ file: 'cycle/cycle-line.js', from: 'embeddings.forget(model, entering);', to: '' }],
  },
  {
    name: 'takes-over-within-a-cycle',
    breaks: 'a cycle is wholly one version’s',
    patches: [
      {
        file: 'cycle/scoring-models.js',
        from: "await lane.run('model', async () => {",
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
    name: 'lane-stops-at-a-failure',
    breaks: 'after a failure the service is usable',
    patches: [{ file: 'cycle/lane.js', from: 'done.then(leave, leave)', to: 'done.then(leave)' }],
  },
  {
    name: 'images-are-not-counted',
    breaks: 'an acknowledged image counts in the next cycle',
    patches: [{ file: 'cycle/service.js', from: 'this.images.add(key);', to: '' }],
  },
]
