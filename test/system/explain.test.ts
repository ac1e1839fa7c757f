/**
 * `understudy explain` as a process, on cycles that real models scored.
 */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { silentLog } from '../../src/base/index.js'
import type { CycleResponse } from '../../src/contract/index.js'
import type { Explanation } from '../../src/contract/index.js'
import { featureNames, loadModel, readManifest, type LoadedModel } from '../../src/model/index.js'
import { candidate, cycleBody, cycleMs, reading, removal } from '../helpers/bodies.js'
import { addVersion, modelsDir, modelsEnvironment, understudy } from '../helpers/models-command.js'
import { RecordedDirectory } from '../helpers/recorded-directory.js'

const loaded: LoadedModel[] = []
afterEach(() => Promise.all(loaded.splice(0).map((model) => model.close())))

const id = (index: number): string => cycleBody(index).cycle_id

async function recordedBy(version: string): Promise<RecordedDirectory> {
  return RecordedDirectory.open({
    model: await load(version),
    weights: { views: 1, comments: 1, up: 0, downvote_share: 0 },
  })
}

async function load(version: string): Promise<LoadedModel> {
  const model = await loadModel({ modelsDir, version, executionProviders: ['cpu'], log: silentLog })
  loaded.push(model)
  return model
}

/** Posts 1 to 20 enter with cycle 0; post 3 is saved with cycle 3 and comes back with cycle 4. */
async function recordCycles(recorded: RecordedDirectory): Promise<CycleResponse[]> {
  const posts = Array.from({ length: 20 }, (_, index) => index + 1)
  const responses: CycleResponse[] = []
  for (const index of [0, 1, 2, 3, 4, 5]) {
    const pending = index === 3 ? posts.filter((post) => post !== 3) : posts
    const entering = index === 0 ? posts : index === 4 ? [3] : []
    const cycle = cycleBody(index, {
      candidates: entering.map((post) =>
        candidate('g', post, post === 3 ? { body_html: '<p>본문</p>' } : {}),
      ),
      engagement: pending
        .filter((post) => post !== 20 || index !== 2)
        .map((post) => reading('g', post, cycleMs(index), { views: 100 * post * (index + 1), up: post })),
      removals: index === 3 ? [removal('g', 3, { reason: 'saved', tier: 'night' })] : [],
    })
    responses.push(await recorded.submit(cycle))
  }
  return responses
}

function explain(recorded: RecordedDirectory, ...args: string[]): SpawnSyncReturns<string> {
  return spawnSync(understudy, ['explain', ...args, '--data-dir', recorded.dataDir], {
    encoding: 'utf8',
    env: modelsEnvironment(),
  })
}

function explanation(recorded: RecordedDirectory, ...args: string[]): Explanation {
  const { stdout, stderr, status } = explain(recorded, ...args, '--json')
  expect(status, stderr).toBe(0)
  return JSON.parse(stdout) as Explanation
}

describe('explain', () => {
  test('shows visits, cycles with rank and heads, and the scores of the responses', async () => {
    const recorded = await recordedBy('v1')
    const responses = await recordCycles(recorded)
    const found = explanation(recorded, 'g', '3', '--cycle', id(1))
    expect(found.visits).toMatchObject([
      {
        entered_cycle: id(0),
        left_cycle: id(3),
        fate: 'saved',
        tier: 'night',
        known_at: responses[3]?.received_at,
      },
      { entered_cycle: id(4), left_cycle: null, fate: 'open', known_at: null },
    ])
    expect([found.visit, found.candidate?.title]).toEqual([0, '제목 3 ㅋㅋ'])
    const expected = [0, 1, 2].map((index) => {
      const { results } = responses[index]!
      const own = results.find(({ post_no }) => post_no === 3)!
      const scores = results.flatMap(({ score }) => (score === null ? [] : [score]))
      const { score, p_views, p_comments, p_up, downvote_share } = own
      return {
        cycle_id: id(index),
        status: 'scored',
        score,
        scored: scores.length,
        rank: 1 + scores.filter((other) => other > score!).length,
        heads: { p_views, p_comments, p_up, downvote_share },
        model_version: 'v1',
        weights_version: 'initial',
      }
    })
    expect(found.cycles).toMatchObject(expected)
  })

  test('gives every feature of the model, and changes that the model confirms', async () => {
    const recorded = await recordedBy('v1')
    await recordCycles(recorded)
    const { explained } = explanation(recorded, 'g', '3', '--cycle', id(1))
    const { manifest } = await readManifest(modelsDir, 'v1')
    const names = featureNames(manifest)
    expect(explained?.problem).toBeNull()
    expect(explained?.score_now).toBeCloseTo(explained?.score ?? NaN, 6)
    expect(explained?.inputs.map(({ name }) => name).sort()).toEqual([...names].sort())
    const views = explained?.inputs.find(({ name }) => name === 'views_log')
    expect(views).toMatchObject({ missing: false, percentile: 0.125 })
    expect(views?.value).toBeCloseTo(Math.log1p(600), 5)
    expect(views?.median).toBeCloseTo((Math.log1p(2000) + Math.log1p(2200)) / 2, 5)
    const sizes = explained?.inputs.map(({ over_median, over_missing }) =>
      Math.abs(over_median ?? over_missing ?? 0),
    )
    expect(sizes).toEqual([...(sizes ?? [])].sort((a, b) => b - a))
    expect(sizes?.[0]).toBeGreaterThan(0)
  })

  test('has the changes of texts and images too', async () => {
    addVersion('e1', 'example-1')
    const recorded = await recordedBy('e1')
    await recordCycles(recorded)
    const { explained } = explanation(recorded, 'g', '5')
    expect(explained?.score_now).toBeCloseTo(explained?.score ?? NaN, 5)
    const text = explained?.inputs.find(({ kind }) => kind === 'text')
    expect(text).toMatchObject({ missing: false, value: null })
    expect(Math.abs(text?.over_missing ?? 0)).toBeGreaterThan(0)
    expect(explained?.inputs.find(({ kind }) => kind === 'image')).toMatchObject({
      missing: true,
      over_median: null,
      over_missing: null,
    })
  })

  test('explains a change between cycles of two weights and two models', async () => {
    addVersion('v2', 'example-1')
    const recorded = await recordedBy('v1')
    await recordCycles(recorded)
    await recorded.store.appendWeights(2, {
      version: 'w2',
      note: '',
      setAtMs: 0,
      firstCycleMs: cycleMs(6),
      weights: { views: 2, comments: 0, up: 1, downvote_share: 0 },
    })
    await recorded.close()
    const later = await RecordedDirectory.reopen(recorded.dataDir, await load('v2'))
    await later.submit(cycleBody(6, { engagement: [reading('g', 5, cycleMs(6), { views: 9999 })] }))
    const { explained, against } = explanation(later, 'g', '5', '--against', id(5))
    expect([explained?.model_version, explained?.weights_version]).toEqual(['v2', 'w2'])
    expect([against?.model_version, against?.weights_version]).toEqual(['v1', 'initial'])
    const change = against!.change!
    expect(change.from_score).toBeCloseTo(against!.score!, 5)
    expect(change.to_score).toBeCloseTo(explained!.score!, 5)
    expect(change.by_inputs + change.by_weights + change.by_model).toBeCloseTo(
      explained!.score! - against!.score!,
      5,
    )
    expect(change.inputs.find(({ name }) => name === 'views_log')?.to).toBeCloseTo(Math.log1p(9999), 5)
    expect(change.inputs.map(({ name }) => name)).not.toContain('title_chars_log')
    const { stdout } = explain(later, 'g', '5', '--against', id(5))
    expect(stdout).toMatch(
      /\nSince cycle \S+: score .* → .*\nInputs [+-][\d.]+, weights \(initial → w2\) [+-][\d.]+, model \(v1 → v2\)/,
    )
  })

  test('prints tables, a sparkline and the outcomes of the post', async () => {
    const recorded = await recordedBy('v1')
    await recordCycles(recorded)
    const outcome = {
      placement_id: 'p1',
      gall_id: 'g',
      post_no: 3,
      tier: 'night',
      placed_at: cycleBody(3).cycle_time,
      picked_by: { type: 'operator' as const },
      readings: [
        {
          age_h: 1 as const,
          observed_at: cycleBody(15).cycle_time,
          views: 4321,
          up: 9,
          down: 1,
          comment_cnt: 5,
        },
      ],
      hidden_at: cycleBody(20).cycle_time,
    }
    const other = { ...outcome, placement_id: 'p2', gall_id: 'h' }
    await recorded.putOutcomes([outcome, other], cycleMs(30))
    const { stdout } = explain(recorded, 'g', '3', '--cycle', id(2))
    expect(stdout).toMatch(
      /^g\/3 {2}제목 3 ㅋㅋ\n[^]*\n1 \(shown below\) +\S+ +\S+ +saved +night +\S+ \S+\n2 +\S+ +– +pending /,
    )
    expect(stdout).toMatch(/\nScore in 3 of 3 cycles, [\d.]+ to [\d.]+: {2}[▁▂▃▄▅▆▇█]{3}\n/)
    expect(stdout).toMatch(/\nInput +Value +Median +Percentile +Effect +Over missing\n/)
    expect(stdout).toMatch(/\nPlaced on night at \S+ by an operator, hidden at \S+\.\nhours +views/)
    expect(stdout.match(/Placed on/g)).toHaveLength(1)
    expect(explanation(recorded, 'g', '3').outcomes).toMatchObject([{ placement_id: 'p1' }])
  })

  test('shows the inputs of a version whose package was deleted', async () => {
    const recorded = await recordedBy('v1')
    await recordCycles(recorded)
    rmSync(join(modelsDir, 'v1'), { recursive: true })
    const { explained } = explanation(recorded, 'g', '5')
    expect(explained?.problem).toMatch(/^v1 cannot be loaded: .*manifest\.json does not exist/)
    expect(explained?.inputs.find(({ name }) => name === 'views')).toMatchObject({
      value: 3000,
      over_median: null,
      over_missing: null,
    })
    expect(explain(recorded, 'g', '5').stdout).toContain(
      '\nThe changes of the score cannot be computed: v1 cannot be',
    )
  })

  test('has the record, its body on request, and the last counters also of a post that has left', async () => {
    const recorded = await recordedBy('v1')
    await recordCycles(recorded)
    const found = explanation(recorded, 'g', '3', '--cycle', id(1))
    expect(found.candidate).not.toHaveProperty('body_html')
    // Of cycle 2, the last one before it left.
    expect(found.last_reading).toMatchObject({ views: 900, up: 3 })
    expect(found.images).toEqual([])
    expect(explanation(recorded, 'g', '3', '--texts').candidate?.body_html).toBe('<p>본문</p>')
  })

  test('explains a post whose first cycles have expired', async () => {
    const recorded = await recordedBy('v1')
    await recordCycles(recorded)
    await recorded.service.close()
    await recorded.store.expiry.removeCycles([
      { position: 1, keepEntry: true },
      { position: 2, keepEntry: false },
    ])
    const { visits, cycles, explained, candidate: post } = explanation(recorded, 'g', '5')
    expect(visits).toMatchObject([{ entered_cycle: null, fate: 'open' }])
    expect(cycles.map(({ cycle_id }) => cycle_id)).toEqual([2, 3, 4, 5].map(id))
    expect([post?.title, explained?.cycle_id]).toEqual(['제목 5 ㅋㅋ', id(5)])
    expect(explained?.score_now).toBeCloseTo(explained?.score ?? NaN, 6)
  })

  test('computes no change with other files than those that scored', async () => {
    const recorded = await recordedBy('v1')
    await recordCycles(recorded)
    await recorded.store.models.claimVersion('v1', 'another')
    const { explained } = explanation(recorded, 'g', '5')
    expect(explained?.problem).toMatch(/^v1 cannot be loaded: the files of v1 differ from those/)
  })

  test('refuses a post that no cycle has, a cycle without its score, and wrong arguments', async () => {
    const recorded = await recordedBy('v1')
    await recordCycles(recorded)
    const failure = (...args: string[]): [string, number | null] => {
      const { stderr, status } = explain(recorded, ...args)
      return [stderr, status]
    }
    expect(failure('g', '77')).toEqual(['understudy: no stored cycle has the post g/77 as a candidate\n', 1])
    expect(failure('g', '20', '--cycle', id(2))).toEqual([
      `understudy: the post cannot be explained: cycle ${id(2)} has no score of g/20: waiting\n`,
      1,
    ])
    expect(failure('g', '3', '--cycle', id(3))[0]).toContain('has no score of g/3: it was not pending')
    expect(failure('g', '3', '--cycle', '20200101T0000')[0]).toContain('has no cycle 20200101T0000')
    expect(failure('g', 'x')).toEqual([
      "understudy: command-argument value 'x' is invalid for argument 'post_no'. It must be an integer of at least 1.\n",
      2,
    ])
  })
})
