/**
 * Features of the admin snapshot: its counters by part (PC, mobile `_m`, app `_a`), totals and shares. Without a snapshot
 * every one of them is 0; `snapshot_present` distinguishes the cases.
 */
import type { InputWords, SnapshotName } from '../../contract/index.js'
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
import { featureTable, named, type FeatureRow } from './feature.js'
import { logHoursBetween } from './shared.js'

/** Counters that have three parts. */
const partedNames = ['recommend_up_cnt', 'comment_cnt', 'hit_cnt', 'sitebest_cnt'] as const
type PartedName = (typeof partedNames)[number]

interface LoggedCounter {
  readonly name: SnapshotName
  readonly form: keyof InputWords['snapshots']
  readonly of: keyof InputWords['fields']
}

const loggedCounters: readonly LoggedCounter[] = [
  ...partedNames.flatMap((of): LoggedCounter[] => [
    { name: of, form: 'snapshot', of },
    { name: `${of}_m`, form: 'snapshotOnMobile', of },
    { name: `${of}_a`, form: 'snapshotInApp', of },
  ]),
  { name: 'memo_size', form: 'snapshot', of: 'memo_size' },
  { name: 'upimg_cnt', form: 'snapshot', of: 'upimg_cnt' },
]
/** Maximum of the wire field (docs/contract.md). */
const heightMax = 32767

export const snapshotFeatures = featureTable([
  [
    'snapshot_present',
    '1 when there is an admin snapshot, else 0',
    0,
    present(snapshotAt),
    named('snapshot_present', 'flag'),
  ],
  [
    'snapshot_age_log',
    'log(hours from snapshot_at to cycle_time, at least 0)',
    0,
    logHoursBetween(snapshotAt, cycleAt),
    named('snapshot_age', 'hours', 1),
  ],
  ...loggedCounters.map(({ name, form, of }): FeatureRow => {
    const formula = `${name} of the admin snapshot`
    return [`snapshot_${name}`, formula, 0, snapshotCounter(name), { form, of, unit: 'count', logs: 0 }]
  }),
  ...loggedCounters.map(({ name, form, of }): FeatureRow => {
    const value = signedLog1p(snapshotCounter(name))
    return [
      `snapshot_${name}_log`,
      `log(${name} of the admin snapshot)`,
      0,
      value,
      { form, of, unit: 'count', logs: 1 },
    ]
  }),
  [
    'snapshot_upimg_height',
    `upimg_height / ${heightMax}`,
    0,
    atMost(divide(snapshotCounter('upimg_height'), heightMax), 1),
    { form: 'snapshot', of: 'upimg_height', unit: 'share', logs: 0 },
  ],
  ...partedNames.map((name): FeatureRow => {
    const formula = `log(${name} + ${name}_m + ${name}_a), a null part being 0`
    return [
      `snapshot_${name}_total_log`,
      formula,
      0,
      signedLog1p(total(name)),
      { form: 'snapshotTotal', of: name, unit: 'count', logs: 1 },
    ]
  }),
  ...(['hit_cnt', 'recommend_up_cnt'] as const).flatMap((name) => [
    partShare(name, '_m', 'mobile'),
    partShare(name, '_a', 'app'),
  ]),
])

function partShare(name: PartedName, part: '_m' | '_a', partName: string): FeatureRow {
  const formula = `${name}${part} / (${name} + ${name}_m + ${name}_a), a null part being 0; 0 for a total of 0`
  const share = divide(orZero(`${name}${part}`), atLeast(total(name), 1))
  return [
    `snapshot_${name}_${partName}_share`,
    formula,
    0,
    share,
    { form: part === '_m' ? 'snapshotMobileShare' : 'snapshotAppShare', of: name, unit: 'share', logs: 0 },
  ]
}

/** Missing only without a snapshot. */
function total(name: PartedName): Expression {
  const sum = add(add(orZero(name), orZero(`${name}_m`)), orZero(`${name}_a`))
  return where(sum, present(snapshotAt))
}

function orZero(name: SnapshotName): Expression {
  return coalesce(snapshotCounter(name), 0)
}
