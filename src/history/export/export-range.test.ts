/** What an export contains: the cycles of a window, whole visits, expired cycles, outcomes; and its files. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bytesOf, candidate, cycleBody, cycleMs, reading, removal } from '../../../test/helpers/bodies.js'
import { exported, record, rowsOf, sorted } from '../../../test/helpers/exported-tables.js'
import { dayOf, micros } from '../../../test/helpers/naive-export.js'
import type { Outcome } from '../../contract/index.js'

describe('an export', () => {
  test('of a window has its cycles, and whole visits that overlap it', async () => {
    const posts = [1, 2, 3].map((post) => candidate('g', post))
    const { directory } = await record([
      cycleBody(0, { candidates: posts, removals: [removal('g', 1)] }),
      cycleBody(1, { engagement: [reading('g', 2, cycleMs(1))], removals: [removal('g', 2)] }),
      cycleBody(2, { removals: [removal('g', 3)] }),
    ])
    const out = await exported(directory, { fromMs: cycleMs(1), toMs: cycleMs(1) })
    expect((await rowsOf(out, 'cycles')).map(({ position }) => position)).toEqual([2])
    expect((await rowsOf(out, 'readings')).map(({ post_no }) => post_no)).toEqual([2])
    const ends = (await rowsOf(out, 'visits')).map((row) => [row['post_no'], row['left_cycle_id']])
    expect(sorted(ends)).toEqual(
      sorted([
        [2, cycleBody(1).cycle_id],
        [3, cycleBody(2).cycle_id],
      ]),
    )
  })

  test('has the beginning of a visit whose cycle has expired while its entry is kept', async () => {
    const { directory } = await record([
      cycleBody(0, { candidates: [1, 2].map((post) => candidate('g', post)) }),
      cycleBody(1, { engagement: [reading('g', 1, cycleMs(1))] }),
      cycleBody(2, { removals: [removal('g', 2)] }),
    ])
    const expiry = directory.store.expiry
    const visits = async (): Promise<unknown[]> => {
      const rows = await rowsOf(await exported(directory), 'visits')
      return rows
        .map(({ post_no, entered_cycle_id, title, fate }) => [post_no, entered_cycle_id, title, fate])
        .sort()
    }
    await directory.service.close()
    await expiry.removeCycles([{ position: 1, keepEntry: true }])
    expect(await visits()).toEqual([
      [1, cycleBody(0).cycle_id, '제목 1 ㅋㅋ', null],
      [2, cycleBody(0).cycle_id, '제목 2 ㅋㅋ', 'hidden'],
    ])
    const scores = await rowsOf(await exported(directory), 'scores')
    expect(new Set(scores.map((row) => row['entered_cycle_id']))).toEqual(new Set([cycleBody(0).cycle_id]))
    await expiry.removeEntries([1])
    expect(await visits()).toEqual([
      [1, null, null, null],
      [2, null, null, 'hidden'],
    ])
  })

  test('has no visit that ended before the first stored cycle, though the entry is kept for another post', async () => {
    const { directory } = await record([
      cycleBody(0, { candidates: [1, 2].map((post) => candidate('g', post)) }),
      cycleBody(1, { removals: [removal('g', 2)] }),
      cycleBody(2, { engagement: [reading('g', 1, cycleMs(2))] }),
    ])
    await directory.service.close()
    await directory.store.expiry.removeCycles([
      { position: 1, keepEntry: true },
      { position: 2, keepEntry: false },
    ])
    const rows = await rowsOf(await exported(directory), 'visits')
    expect(rows.map(({ post_no, fate }) => [post_no, fate])).toEqual([[1, null]])
  })

  test('has one directory per KST day, and no file for an empty table', async () => {
    const [before, after] = [179, 180].map((index) =>
      cycleBody(index, { candidates: [candidate('g', index)] }),
    )
    // 180 cycles after midnight in KST is 15:00; the next day begins 288 cycles after it.
    const { directory } = await record([before!, after!, cycleBody(288)])
    const out = await exported(directory)
    expect(readdirSync(join(out, 'cycles')).sort()).toEqual(['day=2024-03-01', 'day=2024-03-02'])
    expect(existsSync(join(out, 'snapshots'))).toBe(false)
    expect(await rowsOf(out, 'snapshots')).toEqual([])
  })

  test('has outcomes and their readings, with the time of the last report', async () => {
    const { directory } = await record([cycleBody(0)])
    const placed = cycleBody(3).cycle_time
    const whole: Outcome & { deleted_by: string } = {
      placement_id: 'p1',
      gall_id: 'g',
      post_no: 7,
      tier: 'night',
      placed_at: placed,
      picked_by: { type: 'model', model_version: 'm', weights_version: 'w', cycle_id: cycleBody(2).cycle_id },
      score_at_placement: 0.125,
      views_at_placement: 1,
      up_at_placement: 2,
      down_at_placement: null,
      comment_at_placement: 4,
      hidden_at: null,
      deleted_at: cycleBody(9).cycle_time,
      deleted_by: 'operator',
      readings: [
        { age_h: 6, observed_at: cycleBody(80).cycle_time, views: 10, up: null, down: 0, comment_cnt: 3 },
      ],
    }
    const bare: Outcome = {
      placement_id: 'p2',
      gall_id: 'h',
      post_no: 1,
      tier: 'main',
      placed_at: placed,
      picked_by: { type: 'operator' },
    }
    await directory.putOutcomes([whole], cycleMs(90))
    await directory.store.putOutcomes([{ placementId: 'p2', record: bytesOf(bare), arrivedAtMs: cycleMs(4) }])
    const out = await exported(directory)
    const day = dayOf(placed)
    const known = cycleMs(90) * 1000
    const absent = {
      picked_model_version: null,
      picked_weights_version: null,
      picked_cycle_id: null,
      score_at_placement: null,
      views_at_placement: null,
      up_at_placement: null,
      down_at_placement: null,
      comment_at_placement: null,
      hidden_at: null,
      deleted_at: null,
    }
    expect(sorted(await rowsOf(out, 'outcomes'))).toEqual(
      sorted([
        {
          ...absent,
          placement_id: 'p1',
          gall_id: 'g',
          post_no: 7,
          tier: 'night',
          day,
          placed_at: micros(placed),
          picked_by: 'model',
          picked_model_version: 'm',
          picked_weights_version: 'w',
          picked_cycle_id: cycleBody(2).cycle_id,
          score_at_placement: 0.125,
          views_at_placement: 1,
          up_at_placement: 2,
          comment_at_placement: 4,
          deleted_at: micros(whole.deleted_at),
          deleted_by: 'operator',
          known_at: known,
        },
        {
          ...absent,
          placement_id: 'p2',
          gall_id: 'h',
          post_no: 1,
          tier: 'main',
          day,
          placed_at: micros(placed),
          picked_by: 'operator',
          deleted_by: null,
          known_at: cycleMs(4) * 1000,
        },
      ]),
    )
    expect(await rowsOf(out, 'outcome_readings')).toEqual([
      {
        placement_id: 'p1',
        gall_id: 'g',
        post_no: 7,
        age_h: 6,
        day,
        known_at: known,
        observed_at: cycleMs(80) * 1000,
        views: 10,
        up: null,
        down: 0,
        comment_cnt: 3,
      },
    ])
  })
})
