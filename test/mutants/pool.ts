/** Mutants of src/pool. */
import type { MutantGroup } from './mutant.js'

const poolTests = ['src/pool/pool.test.ts', 'src/pool/boundaries.test.ts']

export const poolMutants: readonly MutantGroup[] = [
  {
    file: 'src/pool/tombstones.ts',
    killedBy: ['src/pool/tombstones.test.ts', 'src/pool/boundaries.test.ts'],
    mutants: [
      {
        breaks: 'a tombstone is kept for literally seven days',
        find: '7 * dayMs',
        replace: '6 * dayMs',
      },
      {
        breaks: 'a departure of exactly seven days ago is kept',
        find: 'if (departure.leftAtMs >= beforeMs) break',
        replace: 'if (departure.leftAtMs > beforeMs) break',
      },
      {
        breaks: 'a post that left twice keeps its newer tombstone',
        find: 'if (this.#newest.get(gallId, postNo[i] as number) === departure)\n          this.#newest',
        replace: 'this.#newest',
      },
    ],
  },
  {
    file: 'src/pool/kept-readings.ts',
    killedBy: poolTests,
    mutants: [
      {
        breaks: 'the order of readings goes beyond the millisecond',
        find: '(a.observedAtFraction[rowA] as number) - (b.observedAtFraction[rowB] as number)',
        replace: '0',
      },
      {
        breaks: 'a reading of the same instant is not its own predecessor',
        find: 'if (order > 0 && kept >= 0)',
        replace: 'if (order >= 0 && kept >= 0)',
      },
      {
        breaks: 'only ok readings are kept',
        find: 'if (row < 0 || status[row] !== statusOk) continue',
        replace: 'if (row < 0) continue',
      },
      {
        breaks: 'a reading of the same instant as the previous one has no predecessor',
        find: 'if (order <= 0) before[name][slot] = NaN',
        replace: 'if (order < 0) before[name][slot] = NaN',
      },
    ],
  },
  {
    file: 'src/pool/kept-snapshots.ts',
    killedBy: poolTests,
    mutants: [
      {
        breaks: 'a snapshot of exactly the cycle_time is used',
        find: '(keptMs - cycleAt.ms || keptFraction - cycleAt.fraction) > 0',
        replace: '(keptMs - cycleAt.ms || keptFraction - cycleAt.fraction) >= 0',
      },
      {
        breaks: 'a snapshot of the same instant in a later cycle replaces the kept one',
        find: '(atFraction[row] as number) - keptFraction) < 0',
        replace: '(atFraction[row] as number) - keptFraction) <= 0',
      },
    ],
  },
  {
    file: 'src/pool/latest-rows.ts',
    killedBy: poolTests,
    mutants: [
      {
        breaks: 'of two rows of one instant the last one counts',
        find: '(rows.atFraction[a] as number) < (rows.atFraction[b] as number)',
        replace: '(rows.atFraction[a] as number) <= (rows.atFraction[b] as number)',
      },
    ],
  },
  {
    file: 'src/pool/plan.ts',
    killedBy: poolTests,
    mutants: [
      {
        breaks: 'a cycle of the newest time is not late',
        find: 'if (cycle.cycleAt.ms >= pool.newestCycleMs) return []',
        replace: 'if (cycle.cycleAt.ms > pool.newestCycleMs) return []',
      },
      {
        breaks: 'departures of a late cycle have the newest cycle time',
        find: 'leftAtMs: next.newestCycleMs',
        replace: 'leftAtMs: cycle.cycleAt.ms',
      },
      {
        breaks: 'engagement of a post that leaves with the same cycle is not that of an unknown post',
        find: 'leftNow.get(gallery, postNo) === undefined && !tombstones.has(gallId, postNo)',
        replace: '!tombstones.has(gallId, postNo)',
      },
    ],
  },
  {
    file: 'src/pool/candidates.ts',
    killedBy: poolTests,
    mutants: [
      {
        breaks: 'of two equal candidates in one cycle the first one enters',
        find: 'if (slot < 0 && first === undefined) rows[entering++] = row',
        replace: 'if (slot < 0) rows[entering++] = row',
      },
    ],
  },
  {
    file: 'src/pool/slot-outcomes.ts',
    killedBy: poolTests,
    mutants: [
      {
        breaks: 'a title of white space is missing',
        find: 'chars[slot] === spaces[slot]',
        replace: 'chars[slot] === 0',
      },
    ],
  },
  {
    file: 'src/pool/weights.ts',
    killedBy: ['src/pool/weights.test.ts'],
    mutants: [
      {
        breaks: 'weights of an older version can come back',
        find: "if (current?.version === version) return { kind: 'unchanged', setting: current }",
        replace: "if (used !== undefined) return { kind: 'unchanged', setting: used }",
      },
      {
        breaks: 'weights apply from their first cycle on',
        find: 'setting.firstCycleMs <= cycleMs',
        replace: 'setting.firstCycleMs < cycleMs',
      },
      {
        breaks: 'the share of downvotes lowers a score',
        find: "['downvote_share', -weights.downvote_share]",
        replace: "['downvote_share', weights.downvote_share]",
      },
    ],
  },
  {
    file: 'src/pool/post-map.ts',
    killedBy: ['src/pool/post-map.test.ts'],
    mutants: [
      {
        breaks: 'post numbers that differ in the upper half are different keys',
        find: 'return postNo - low + ((low ^ salt) >>> 0)',
        replace: 'return (low ^ salt) >>> 0',
      },
    ],
  },
]
