/**
 * The admin snapshot in use: its counters by part (PC, mobile `_m`, app `_a`), totals and shares.
 * Without a snapshot every feature here is 0 and `snapshot_present` tells.
 */
import type { SnapshotName } from '../../contract/index.js'
import type { ScoringInputs } from '../../pool/index.js'
import { snapshotAt } from './columns.js'
import type { Feature, Fill } from './feature.js'
import { logHoursBetween, presentFlag } from './fills.js'
import { logOnePlus } from './count-log.js'

/** Counters that come in three parts. */
type PartedName = 'recommend_up_cnt' | 'comment_cnt' | 'hit_cnt' | 'sitebest_cnt'
type Part = '_m' | '_a'
type Columns = ScoringInputs['snapshot']

const partedNames: readonly PartedName[] = ['recommend_up_cnt', 'comment_cnt', 'hit_cnt', 'sitebest_cnt']
/** Cap of the source field (interface.md 2.4). */
const heightMax = 32767

export const snapshotFeatures: readonly Feature[] = [
  {
    name: 'snapshot_present',
    formula: '1 when there is an admin snapshot, else 0',
    missing: 0,
    fill: presentFlag(snapshotAt),
  },
  {
    name: 'snapshot_age_log',
    formula: 'log(hours from snapshot_at to cycle_time, at least 0)',
    missing: 0,
    fill: logHoursBetween(snapshotAt, 'cycle'),
  },
  ...partedNames.flatMap((name) => [logOf(name), logOf(`${name}_m`), logOf(`${name}_a`)]),
  logOf('memo_size'),
  logOf('upimg_cnt'),
  {
    name: 'snapshot_upimg_height',
    formula: `upimg_height / ${heightMax}`,
    missing: 0,
    fill: fillHeight,
  },
  ...partedNames.map((name) => ({
    name: `snapshot_${name}_total_log`,
    formula: `log(${name} + ${name}_m + ${name}_a), a null part being 0`,
    missing: 0,
    fill: totalLog(name),
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
    fill: (inputs, out, first, stride) => {
      const { snapshotAtMs } = inputs.snapshot
      const values = inputs.snapshot[name]
      for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
        const slot = inputs.slots[row] as number
        const value = values[slot] as number
        out[at] = value > 0 && isPresent(snapshotAtMs, slot) ? logOnePlus(value) : 0
      }
    },
  }
}

function fillHeight(...[inputs, out, first, stride]: Parameters<Fill>): void {
  const { snapshotAtMs, upimg_height: heights } = inputs.snapshot
  for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
    const slot = inputs.slots[row] as number
    const height = heights[slot] as number
    out[at] = height > 0 && isPresent(snapshotAtMs, slot) ? Math.min(height / heightMax, 1) : 0
  }
}

function totalLog(name: PartedName): Fill {
  return (inputs, out, first, stride) => {
    const { snapshotAtMs } = inputs.snapshot
    const [pc, mobile, app] = partsOf(inputs.snapshot, name)
    for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
      const slot = inputs.slots[row] as number
      out[at] = isPresent(snapshotAtMs, slot) ? logOnePlus(total(pc, mobile, app, slot)) : 0
    }
  }
}

function partShare(name: PartedName, part: Part, partName: string): Feature {
  return {
    name: `snapshot_${name}_${partName}_share`,
    formula: `${name}${part} / (${name} + ${name}_m + ${name}_a), a null part being 0; 0 for a total of 0`,
    missing: 0,
    fill: (inputs, out, first, stride) => {
      const { snapshotAtMs } = inputs.snapshot
      const [pc, mobile, app] = partsOf(inputs.snapshot, name)
      const parts = part === '_m' ? mobile : app
      for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
        const slot = inputs.slots[row] as number
        const value = parts[slot] as number
        out[at] = value > 0 && isPresent(snapshotAtMs, slot) ? value / total(pc, mobile, app, slot) : 0
      }
    },
  }
}

/** Columns of a counter's three parts. Looked up once a column: a name put together costs more than a logarithm. */
function partsOf(
  columns: Columns,
  name: PartedName,
): [pc: Float64Array, mobile: Float64Array, app: Float64Array] {
  return [columns[name], columns[`${name}_m`], columns[`${name}_a`]]
}

function total(pc: Float64Array, mobile: Float64Array, app: Float64Array, slot: number): number {
  return orZero(pc[slot] as number) + orZero(mobile[slot] as number) + orZero(app[slot] as number)
}

function orZero(value: number): number {
  return value > 0 ? value : 0
}

/** A slot without a snapshot may still hold counters of an earlier post: they count for nothing. */
function isPresent(snapshotAtMs: Float64Array, slot: number): boolean {
  return !Number.isNaN(snapshotAtMs[slot])
}
