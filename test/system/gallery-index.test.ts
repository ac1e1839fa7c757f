/**
 * A model that reads the gallery of a post, from the files of its training to a server: a draft, golden cases, cycles and their replay,
 * a shadow whose list has another order, and an explanation.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Comparison, CycleResponse, Explanation } from '../../src/contract/index.js'
import type { GoldenFile, Manifest } from '../../src/model/index.js'
import { candidate, cycleBody, cycleMs, reading } from '../helpers/bodies.js'
import { galleries, galleryGraph } from '../helpers/gallery-graph.js'
import {
  changeManifest,
  models,
  modelsDir,
  modelsEnvironment,
  understudy,
} from '../helpers/models-command.js'
import { scratchDir, started } from '../helpers/servers.js'

/** The files of a training; returns their directory. */
function deliver(version: string, list: readonly string[] | null): string {
  const directory = join(modelsDir, version)
  mkdirSync(directory)
  writeFileSync(join(directory, 'p_views.onnx'), galleryGraph(['N', 1]))
  if (list !== null) writeFileSync(join(directory, 'galleries.txt'), `${list.join('\n')}\n`)
  return directory
}

test('init drafts the list from a file of the training, and asks for it without one', () => {
  const lacking = models('init', deliver('lacking', null))
  expect(lacking).toMatchObject({ status: 1, stderr: 'understudy: the draft needs galleries\n' })
  expect(lacking.stdout.replace(/\s+/g, ' ')).toMatch(/NEEDED galleries: the gall_id of each index from 1/)
  const directory = deliver('v2', galleries)
  const { stdout, status } = models('init', directory, '--json')
  expect([status, (JSON.parse(stdout) as { manifest: Manifest }).manifest]).toMatchObject([
    0,
    {
      galleries,
      head: { inputs: { gallery_index: 'gallery' }, outputs: { p_views: { name: 'probs' } } },
      draft: ['kind', 'head.inputs.gallery_index'],
    },
  ])
  const cases = [{ gall_id: 'cat', heads: { p_views: 0.75 } }]
  writeFileSync(join(directory, 'from-training.json'), JSON.stringify({ cases }))
  const taken = models('init', directory, '--json', '--golden', join(directory, 'from-training.json'))
  expect((JSON.parse(taken.stdout) as { manifest: Manifest }).manifest.draft).toEqual(['kind'])
  expect(models('verify', 'v2').stdout).toMatch(/\nPASS {2}golden {7}1 golden case:/)
})

test('a server scores posts by their galleries, and replays give the same scores', async () => {
  for (const [version, list] of [
    ['v2', galleries],
    ['v3', galleries.toReversed()],
    ['v4', galleries],
  ] as const)
    expect(models('init', deliver(version, list)).status).toBe(0)
  writeFileSync(join(modelsDir, 'ACTIVE'), 'v2\n')
  writeFileSync(join(modelsDir, 'SHADOW'), 'v3\n')
  const dataDir = scratchDir()
  const server = await started({ UNDERSTUDY_MODELS_DIR: modelsDir, UNDERSTUDY_DATA_DIR: dataDir })
  await server.logged('shadow model started')
  // The pool numbers the galleries in the order of their arrival.
  const ids = ['cat', 'unheard of', 'programming', '등산', 'cat']
  for (const index of [0, 1]) {
    const reply = await server.postCycle(
      cycleBody(index, {
        candidates: index === 0 ? ids.map((id, post) => candidate(id, post + 1)) : [],
        engagement: ids.map((id, post) => reading(id, post + 1, cycleMs(index))),
      }),
    )
    const { results } = reply.json as CycleResponse
    expect(results.map(({ p_views }) => p_views)).toEqual([0.75, 0.125, 0.25, 0.5, 0.75])
  }
  const at = ['--data-dir', dataDir]
  const id = cycleBody(1).cycle_id
  const compare = (version: string): Comparison =>
    JSON.parse(models('compare', 'v2', version, '--json', ...at).stdout) as Comparison
  const replayed = compare('v4')
  expect(replayed.sources.second).toMatchObject({ replay: 2 })
  expect(replayed.median).toMatchObject({ mean_absolute_difference: 0 })
  await vi.waitUntil(() => compare('v3').sources.second.shadow === 2, { timeout: 60_000, interval: 200 })
  // The heads differ by 0.5 for `cat` twice and for `programming`; the default weight of p_views is 0.4.
  expect(compare('v3').median?.mean_absolute_difference).toBeCloseTo(0.4 * ((3 * 0.5) / 5), 6)
  const explained = spawnSync(understudy, ['explain', 'cat', '5', '--json', ...at], {
    encoding: 'utf8',
    env: modelsEnvironment(),
  })
  const { explained: cycle } = JSON.parse(explained.stdout) as Explanation
  expect(cycle?.inputs.find(({ kind }) => kind === 'gallery')).toMatchObject({ value: 3, missing: false })

  const recorded = models('golden', 'v2', '--cycle', id, ...at)
  expect(recorded.status).toBe(0)
  const { cases } = JSON.parse(readFileSync(join(modelsDir, 'v2', 'golden.json'), 'utf8')) as GoldenFile
  expect(cases.map(({ gall_id }) => gall_id)).toEqual(ids)
  changeManifest('v2', JSON.parse(`{${recorded.stdout}}`) as object)
  expect(models('verify', 'v2').stdout).toMatch(/\nPASS {2}golden {7}5 golden cases:/)
})
