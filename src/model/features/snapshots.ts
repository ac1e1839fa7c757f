/**
 * Features of the admin snapshot: its counters by part (PC, mobile `_m`, app `_a`), totals and shares. Without a snapshot
 * every one of them is 0; `snapshot_present` distinguishes the cases.
 */
import type { SnapshotName } from '../../contract/index.js'
import { cycleAt, snapshotAt, snapshotCounter } from './columns.js'
import {
  add,
  atLeast,
  atMost,
  divide,
  signedLog1p,
  coalesce,
  present,
  where,
  type Expression,
} from './expression.js'
import { featureTable, type FeatureRow } from './feature.js'
import { logHoursBetween } from './shared.js'

/** Counters that have three parts. */
const partedNames = ['recommend_up_cnt', 'comment_cnt', 'hit_cnt', 'sitebest_cnt'] as const
type PartedName = (typeof partedNames)[number]

const loggedNames: readonly SnapshotName[] = [
  ...partedNames.flatMap((name) => [name, `${name}_m`, `${name}_a`] as const),
  ...(['memo_size', 'upimg_cnt'] as const),
]
/** Maximum of the wire field (docs/contract.md). */
const heightMax = 32767

export const snapshotFeatures = featureTable([
  ['snapshot_present', '1 when there is an admin snapshot, else 0', 0, present(snapshotAt)],
  [
    'snapshot_age_log',
    'log(hours from snapshot_at to cycle_time, at least 0)',
    0,
    logHoursBetween(snapshotAt, cycleAt),
  ],
  ...loggedNames.map((name): FeatureRow => {
    return [`snapshot_${name}`, `${name} of the admin snapshot`, 0, snapshotCounter(name)]
  }),
  ...loggedNames.map((name): FeatureRow => {
    const value = signedLog1p(snapshotCounter(name))
    return [`snapshot_${name}_log`, `log(${name} of the admin snapshot)`, 0, value]
  }),
  [
    'snapshot_upimg_height',
    `upimg_height / ${heightMax}`,
    0,
    atMost(divide(snapshotCounter('upimg_height'), heightMax), 1),
  ],
  ...partedNames.map((name): FeatureRow => {
    const formula = `log(${name} + ${name}_m + ${name}_a), a null part being 0`
    return [`snapshot_${name}_total_log`, formula, 0, signedLog1p(total(name))]
  }),
  ...(['hit_cnt', 'recommend_up_cnt'] as const).flatMap((name) => [
    partShare(name, '_m', 'mobile'),
    partShare(name, '_a', 'app'),
  ]),
])

function partShare(name: PartedName, part: '_m' | '_a', partName: string): FeatureRow {
  const formula = `${name}${part} / (${name} + ${name}_m + ${name}_a), a null part being 0; 0 for a total of 0`
  const share = divide(orZero(`${name}${part}`), atLeast(total(name), 1))
  return [`snapshot_${name}_${partName}_share`, formula, 0, share]
}

/** Missing only without a snapshot. */
function total(name: PartedName): Expression {
  const sum = add(add(orZero(name), orZero(`${name}_m`)), orZero(`${name}_a`))
  return where(sum, present(snapshotAt))
}

function orZero(name: SnapshotName): Expression {
  return coalesce(snapshotCounter(name), 0)
}
