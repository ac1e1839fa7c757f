/**
 * Features of the admin snapshot: its counters by part (PC, mobile `_m`, app `_a`), totals and shares. Without a snapshot
 * every one of them is 0; `snapshot_present` tells the cases apart.
 */
import type { SnapshotName } from '../../contract/index.js'
import { cycleAt, snapshotAt, snapshotCounter } from './columns.js'
import { add, atLeast, atMost, divide, log, orElse, present, where, type Expression } from './expression.js'
import type { Feature } from './feature.js'
import { logHoursBetween } from './shared.js'

/** Counters that have three parts. */
type PartedName = 'recommend_up_cnt' | 'comment_cnt' | 'hit_cnt' | 'sitebest_cnt'
type Part = '_m' | '_a'

const partedNames: readonly PartedName[] = ['recommend_up_cnt', 'comment_cnt', 'hit_cnt', 'sitebest_cnt']
const loggedNames = [
  ...partedNames.flatMap((name) => [name, `${name}_m`, `${name}_a`] as const),
  ...(['memo_size', 'upimg_cnt'] as const),
]
/** Maximum of the wire field (interface.md 2.4). */
const heightMax = 32767

export const snapshotFeatures: readonly Feature[] = [
  {
    name: 'snapshot_present',
    formula: '1 when there is an admin snapshot, else 0',
    missing: 0,
    value: present(snapshotAt),
  },
  {
    name: 'snapshot_age_log',
    formula: 'log(hours from snapshot_at to cycle_time, at least 0)',
    missing: 0,
    value: logHoursBetween(snapshotAt, cycleAt),
  },
  ...loggedNames.map((name) => ({
    name: `snapshot_${name}`,
    formula: `${name} of the admin snapshot`,
    missing: 0,
    value: snapshotCounter(name),
  })),
  ...loggedNames.map(logOf),
  {
    name: 'snapshot_upimg_height',
    formula: `upimg_height / ${heightMax}`,
    missing: 0,
    value: atMost(divide(snapshotCounter('upimg_height'), heightMax), 1),
  },
  ...partedNames.map((name) => ({
    name: `snapshot_${name}_total_log`,
    formula: `log(${name} + ${name}_m + ${name}_a), a null part being 0`,
    missing: 0,
    value: log(total(name)),
  })),
  partShare('hit_cnt', '_m', 'mobile'),
  partShare('hit_cnt', '_a', 'app'),
  partShare('recommend_up_cnt', '_m', 'mobile'),
  partShare('recommend_up_cnt', '_a', 'app'),
]

function logOf(name: SnapshotName): Feature {
  return {
    name: `snapshot_${name}_log`,
    formula: `log(${name} of the admin snapshot)`,
    missing: 0,
    value: log(snapshotCounter(name)),
  }
}

function partShare(name: PartedName, part: Part, partName: string): Feature {
  return {
    name: `snapshot_${name}_${partName}_share`,
    formula: `${name}${part} / (${name} + ${name}_m + ${name}_a), a null part being 0; 0 for a total of 0`,
    missing: 0,
    value: divide(orZero(`${name}${part}`), atLeast(total(name), 1)),
  }
}

/** Missing only without a snapshot. */
function total(name: PartedName): Expression {
  const sum = add(add(orZero(name), orZero(`${name}_m`)), orZero(`${name}_a`))
  return where(sum, present(snapshotAt))
}

function orZero(name: SnapshotName): Expression {
  return orElse(snapshotCounter(name), 0)
}
