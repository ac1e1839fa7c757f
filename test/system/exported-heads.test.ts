/**
 * Heads as scikit-learn, LightGBM, XGBoost and torch export them (test/golden/exports/make_heads.py): `models init` drafts a manifest
 * in which nothing has to be edited, `models verify` passes, and a batch has the heads that the training library computed.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Manifest } from '../../src/model/index.js'
import { addHeads } from '../helpers/exported-models.js'
import { changeManifest, models, modelsDir } from '../helpers/models-command.js'

interface Expected {
  readonly head: object
  readonly missing?: 'nan'
  /** What besides `kind` the golden cases leave open. */
  readonly draft?: readonly string[]
  /** Largest difference of a head from the training. */
  readonly tolerance?: number
}

const names = ['views_log', 'up_log', 'up_per_view', 'created_age_log']
const up = (output: object): object => ({ outputs: { p_up: output } })
/** The outputs of three heads, each a column. */
const three = (output: object): object => ({
  outputs: Object.fromEntries(
    ['p_views', 'p_comments', 'p_up'].map((head, column) => [head, { ...output, column }]),
  ),
})
const secondClass = { name: 'probabilities', column: 1 }

const exported: Readonly<Record<string, Expected>> = {
  'sklearn-zipmap-columns': { head: up({ name: 'i1' }), missing: 'nan', draft: ['missing'] },
  'sklearn-raw-scores': { head: up({ ...secondClass, activation: 'sigmoid' }) },
  'sklearn-columns': { head: { ...up(secondClass), inputs: { features: names } }, draft: ['missing'] },
  'sklearn-regressor': {
    head: up({ name: 'variable', scale: 0.01, activation: 'clip' }),
    draft: ['missing'],
  },
  'lightgbm-onnxmltools': { head: up(secondClass), missing: 'nan', draft: ['missing'] },
  'xgboost-onnxmltools': {
    head: [up(secondClass), { outputs: { p_views: secondClass } }],
    missing: 'nan',
  },
  'torch-two-logits': { head: up({ name: 'logits', column: 1, activation: 'softmax' }) },
  'torch-squeeze': { head: three({ name: 'probs', squeeze: true }) },
  'torch-transposed': { head: three({ name: 'logits', transposed: true, activation: 'sigmoid' }) },
  'torch-half': { head: three({ name: 'probs' }), draft: ['golden.tolerance'], tolerance: 1e-3 },
  'torch-int8': { head: { ...three({ name: 'probs' }), batch: 1 }, draft: ['missing'] },
  'torch-external-data': {
    head: { ...three({ name: 'probs' }), external_data: [{ file: 'head.onnx.data' }] },
  },
  'torch-batch-of-one': { head: { ...up({ name: 'probability' }), batch: 1 } },
}

test.each(Object.entries(exported))('%s', (version, { head, missing, draft = [], tolerance = 1e-6 }) => {
  const { directory, golden } = addHeads(modelsDir, version)
  const init = models('init', directory, '--golden', golden, '--json')
  expect([init.stderr, init.status]).toEqual(['', 0])
  const { manifest } = JSON.parse(init.stdout) as { manifest: Manifest }
  expect(manifest).toMatchObject({ features: names, head, draft: ['kind', ...draft] })
  expect(manifest.missing).toBe(missing)
  // The cases are one batch.
  changeManifest(version, { golden: { ...manifest.golden, tolerance } })
  const verify = models('verify', version)
  expect([verify.stderr, verify.status]).toEqual(['', 0])
  expect(verify.stdout).toMatch(/^PASS {2}golden {7}6 golden cases/m)
})

test('cases that differ by more than half precision explains are needed', () => {
  const { directory, golden } = addHeads(modelsDir, 'torch-squeeze')
  const { cases } = JSON.parse(readFileSync(golden, 'utf8')) as { cases: { heads: { p_up: number } }[] }
  cases[2]!.heads.p_up += 0.0011
  const changed = join(modelsDir, 'changed.json')
  writeFileSync(changed, JSON.stringify({ cases }))
  const { stdout, status } = models('init', directory, '--golden', changed)
  expect(stdout).toMatch(/NEEDED {2}golden: 1 head of 6 golden cases differ with every\s+alternative/)
  expect(status).toBe(1)
})

test('cases with nulls change nothing that somebody has confirmed', () => {
  const { directory, golden } = addHeads(modelsDir, 'lightgbm-onnxmltools')
  models('init', directory)
  changeManifest('lightgbm-onnxmltools', { draft: [] })
  const { stdout, status } = models('init', directory, '--golden', golden, '--json')
  expect(status).toBe(0)
  expect((JSON.parse(stdout) as { manifest: Manifest }).manifest).not.toHaveProperty('missing')
})

test('a graph that returns a map for each row is to be exported without it', () => {
  const { directory } = addHeads(modelsDir, 'sklearn-zipmap')
  const { stdout, stderr } = models('init', directory)
  expect(stdout).toMatch(
    /NEEDED {2}head.outputs: output output_probability is no tensor: export with\s+options=\{"zipmap": False\}/,
  )
  expect(stderr).toBe('understudy: the draft needs head.outputs\n')
})
