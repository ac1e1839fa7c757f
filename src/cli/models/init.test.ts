/**
 * `understudy models init` as a process, on small exports of the libraries (test/golden/exports): what it drafts passes every check
 * of a server, with nothing edited.
 */
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { addExport, addWithoutManifest } from '../../../test/helpers/exported-models.js'
import { changeManifest, models, modelsDir } from '../../../test/helpers/models-command.js'
import { modelIdentity, type Manifest } from '../../model/index.js'

interface Printed {
  readonly manifest: Manifest
  readonly findings: readonly { member: string; state: string; source: string }[]
  readonly unused: readonly string[]
  readonly script: string | null
}

interface Report {
  readonly passed: boolean
  readonly checks: readonly { check: string; state: string; sentence: string }[]
}

function drafted(directory: string, ...args: string[]): Printed {
  const { stdout, stderr, status } = models('init', directory, '--json', ...args)
  expect([stderr, status]).toEqual(['', 0])
  const printed = JSON.parse(stdout) as Printed
  expect(manifestOf(directory)).toEqual(printed.manifest)
  return printed
}

function manifestOf(directory: string): unknown {
  return JSON.parse(readFileSync(join(directory, 'manifest.json'), 'utf8'))
}

/** The state of each check. */
function verified(version: string): Record<string, string> {
  const { checks, passed } = JSON.parse(models('verify', version, '--json').stdout) as Report
  expect(passed, JSON.stringify(checks, null, 1)).toBe(true)
  return Object.fromEntries(checks.map(({ check, state }) => [check, state]))
}

function shipped(version: string): Manifest {
  const file = join(import.meta.dirname, '../../../models', version, 'manifest.json')
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest
}

test('drafts the shipped example as it is: golden cases decide what no file states', () => {
  const directory = addWithoutManifest(modelsDir, 'example-1')
  const { manifest, findings } = drafted(directory)
  expect(modelIdentity(manifest)).toBe(modelIdentity(shipped('example-1')))
  expect(manifest.golden).toMatchObject({ file: 'golden.json', tolerance: 0.001 })
  expect(manifest.draft).toEqual(['kind', 'text.tokens_max'])
  expect(findings.find(({ member }) => member === 'text.normalize')?.source).toBe('the golden cases agree')
  expect(verified('example-1')).toMatchObject({ draft: 'warn', golden: 'pass', text: 'pass', image: 'pass' })
})

test('drafts the folder of a sentence-transformers model, an image encoder and a head, with the golden cases of the training', () => {
  const directory = addExport(modelsDir, 'encoders')
  const golden = join(directory, 'from-training.json')
  const { manifest } = drafted(directory, '--golden', golden)
  expect(manifest).toMatchObject({
    features: ['views_log', 'up_log', 'up_per_view', 'created_age_log'],
    head: { inputs: { features: 'features', text: 'text_embedding', image: 'image_embedding' } },
    text: {
      file: 'text/onnx/model.onnx',
      tokenizer: { file: 'text/tokenizer.json' },
      pooling: 'mean',
      normalize: true,
      tokens_max: 48,
      dim: 16,
      golden_tokens: (JSON.parse(readFileSync(golden, 'utf8')) as { golden_tokens: unknown }).golden_tokens,
    },
    image: { resize: { shortest_edge: 32 }, mean: [0.48145466, 0.4578275, 0.40821073], dim: 8 },
  })
  expect(verified('encoders')).toMatchObject({
    golden: 'pass',
    tokenizer: 'pass',
    text: 'pass',
    image: 'pass',
  })
})

test('drafts a pipeline of scikit-learn: the probability of the class 1, the features of a text file', () => {
  const directory = addExport(modelsDir, 'pipeline')
  rmSync(join(directory, 'predictions.csv'))
  const { manifest, script } = drafted(directory)
  expect(manifest).toMatchObject({
    features: ['views_log', 'up_log', 'up_per_view', 'created_age_log'],
    head: { inputs: { features: 'X' }, outputs: { p_views: { name: 'probabilities', column: 1 } } },
    draft: ['kind', 'head.outputs.p_views', 'head.outputs.p_views.column'],
  })
  expect(script).toBe(join(directory, 'golden_cases.py'))
  expect(existsSync(join(directory, 'golden_cases.py'))).toBe(true)
  expect(verified('pipeline')).toMatchObject({ draft: 'warn', golden: 'warn', batches: 'pass' })
})

test('drafts a tree ensemble: a logit by its values, the head by the name of the file, NaN by the empty cells of the table', () => {
  const { manifest } = drafted(addExport(modelsDir, 'trees'))
  expect(manifest).toMatchObject({
    features: ['views_log', 'up_log', 'up_per_view', 'created_age_log'],
    missing: 'nan',
    head: { file: 'p_up.onnx', outputs: { p_up: { name: 'sum', activation: 'sigmoid' } } },
  })
  expect(verified('trees')).toMatchObject({ draft: 'warn', extremes: 'pass' })
})

test('prints each member with its source, what is needed, and what comes next', () => {
  const directory = addExport(modelsDir, 'trees')
  rmSync(join(directory, 'train.csv'))
  const { stdout, stderr, status } = models('init', directory)
  expect(stdout).toMatch(/\nhead\.outputs\.p_up +sum +the name p_up\n/)
  expect(stdout).toMatch(/\nhead\.outputs\.p_up\.activation +sigmoid +guessed +its values are between /)
  expect(stdout).toMatch(
    /\nNEEDED {2}features: the names of its 4 feature columns, in order: init again with --force --features and a file/,
  )
  expect(stdout).not.toContain('Next: ')
  expect([stderr, status]).toEqual(['understudy: the draft needs features\n', 1])
  expect(models('verify', 'trees').stdout).toMatch(/features that the catalogue\s+lacks: column_1, column_2/)
  const given = models(
    'init',
    directory,
    '--force',
    '--features',
    'views_log, up_log,up_per_vew,created_age_log',
  )
  expect(given.stdout).toContain('not in the catalogue: up_per_vew (did you mean up_per_view?)')
})

test('drafts an encoder without a head, for a comparison with the training', () => {
  const directory = addExport(modelsDir, 'encoders')
  for (const part of ['head.onnx', 'image']) rmSync(join(directory, part), { recursive: true })
  const { stdout, stderr, status } = models('init', directory)
  expect(stdout).toMatch(/\nNEEDED {2}head: add the graph that computes the heads/)
  expect(stdout).toMatch(/\nNext: understudy models embed encoders( --models-dir \S+)? --text TEXT\n/)
  expect([stderr, status]).toEqual(['understudy: the draft needs head\n', 1])
  expect(existsSync(join(directory, 'golden_cases.py'))).toBe(false)
  const encoderAlone = manifestOf(directory) as Manifest
  expect(encoderAlone).toMatchObject({ head: [], text: { file: 'text/onnx/model.onnx', dim: 16 } })
  expect(encoderAlone).not.toHaveProperty('features')
  const embedded = models('embed', 'encoders', '--json', '--text', '글')
  expect(JSON.parse(embedded.stdout)).toMatchObject({ texts: [{ text: '글\n', problem: null }] })
  expect(models('verify', 'encoders', '--json')).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('head must be an array of 1 to 4 items, not []') as string,
  })
  addExport(modelsDir, 'encoders')
  const { manifest } = drafted(directory, '--force')
  expect(manifest).toMatchObject({ head: { file: 'head.onnx' }, text: encoderAlone.text })
})

test('changes no manifest that exists, apart from its golden cases', () => {
  const directory = addExport(modelsDir, 'encoders')
  const first = drafted(directory).manifest
  expect(models('init', directory)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('manifest.json exists: --force drafts it again') as string,
  })
  const corrected = { ...first, note: 'corrected', draft: undefined }
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(corrected))
  const { manifest } = drafted(directory, '--golden', join(directory, 'from-training.json'))
  expect(manifest).toMatchObject({ note: 'corrected', head: first.head, golden: { file: 'golden.json' } })
  expect(manifest).not.toHaveProperty('draft')
  expect(verified('encoders')).toMatchObject({ golden: 'pass', tokenizer: 'pass' })
})

test('golden cases that differ whatever was guessed are needed', () => {
  const directory = addExport(modelsDir, 'encoders')
  const text = readFileSync(join(directory, 'from-training.json'), 'utf8').replace(
    /"p_up": 0\.\d/,
    '"p_up": 0.9',
  )
  writeFileSync(join(directory, 'from-training.json'), text)
  const { stdout, stderr, status } = models(
    'init',
    directory,
    '--golden',
    join(directory, 'from-training.json'),
  )
  expect(stdout.replace(/\s+/g, ' ')).toMatch(
    /NEEDED golden: 1 head of 4 golden cases differ with every alternative of what was guessed; the first is p_up of golden case 1/,
  )
  expect([stderr, status]).toEqual(['understudy: the draft needs golden\n', 1])
})

test('the tolerance that a manifest states decides, not that of half precision', () => {
  const directory = addExport(modelsDir, 'encoders')
  const golden = join(directory, 'from-training.json')
  const { manifest } = drafted(directory, '--golden', golden)
  const cases = JSON.parse(readFileSync(golden, 'utf8')) as { cases: { heads: { p_up: number } }[] }
  cases.cases[0]!.heads.p_up += 0.0005
  writeFileSync(golden, JSON.stringify(cases))
  changeManifest('encoders', { golden: { ...manifest.golden, tolerance: 1e-5 } })
  expect(models('init', directory, '--golden', golden)).toMatchObject({
    status: 1,
    stderr: 'understudy: the draft needs golden\n',
  })
  expect(manifestOf(directory)).toMatchObject({ golden: { tolerance: 1e-5 } })
})

test('names what cannot be drafted', () => {
  const directory = addExport(modelsDir, 'encoders')
  for (const encoder of ['image', 'text/onnx']) rmSync(join(directory, encoder), { recursive: true })
  writeFileSync(join(directory, 'head.onnx'), 'no graph')
  const { stdout, status } = models('init', directory, '--json')
  expect(JSON.parse(stdout)).toMatchObject({
    manifest: null,
    findings: [{ member: 'head', state: 'needed' }],
  })
  expect([status, existsSync(join(directory, 'manifest.json'))]).toEqual([1, false])
  rmSync(join(directory, 'head.onnx'))
  expect(models('init', directory).stderr).toContain('has no file that ends in .onnx')
  expect(models('init', 'nowhere').stderr).toMatch(/^understudy: nowhere is not a directory, and /)
})

describe('what is there already', () => {
  test('is not written through: what a link of the package names stays as it is', () => {
    const outside = dirname(modelsDir)
    const victim = join(outside, 'victim')
    writeFileSync(victim, 'precious')
    const directory = addExport(modelsDir, 'pipeline')
    rmSync(join(directory, 'predictions.csv'))
    symlinkSync(victim, join(directory, 'golden_cases.py'))
    expect(models('init', directory).stderr).toContain(
      `${join(directory, 'golden_cases.py')} is kept: it differs`,
    )

    rmSync(join(directory, 'manifest.json'))
    symlinkSync(join(outside, 'created'), join(directory, 'manifest.json'))
    const refused = models('init', directory)
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('manifest.json exists')])
    expect(models('init', directory, '--force').status).toBe(0)
    expect(lstatSync(join(directory, 'manifest.json')).isFile()).toBe(true)

    const encoders = addExport(modelsDir, 'encoders')
    symlinkSync(victim, join(encoders, 'golden.json'))
    expect(models('init', encoders, '--golden', join(encoders, 'from-training.json')).status).toBe(0)
    expect(lstatSync(join(encoders, 'golden.json')).isFile()).toBe(true)
    expect(existsSync(join(outside, 'created'))).toBe(false)
    expect(readFileSync(victim, 'utf8')).toBe('precious')
  })

  test('and was edited is kept; what is the same is not reported', () => {
    const directory = addExport(modelsDir, 'pipeline')
    rmSync(join(directory, 'predictions.csv'))
    const script = join(directory, 'golden_cases.py')
    writeFileSync(script, '# edited by the model team\n')
    expect(models('init', directory).stderr).toContain(`${script} is kept`)
    expect(models('init', directory, '--force').stderr).toContain(`${script} is kept`)
    expect(readFileSync(script, 'utf8')).toBe('# edited by the model team\n')
    rmSync(script)
    expect(models('init', directory, '--force').stderr).toBe('')
    expect(models('init', directory, '--force').stderr).toBe('')
  })
})

test('the next commands can be pasted into a shell, and there are none while something is needed', () => {
  const directory = join(modelsDir, 'my models', 'candidate-2')
  mkdirSync(dirname(directory))
  renameSync(addExport(modelsDir, 'pipeline', 'candidate-2'), directory)
  rmSync(join(directory, 'predictions.csv'))
  const { stdout, status } = models('init', directory)
  expect(status).toBe(0)
  const [next] = /(?<=^Next: ).*$/m.exec(stdout) ?? []
  expect(next).toBe(`understudy models verify candidate-2 --models-dir '${dirname(directory)}'`)
  expect(stdout).toMatch(/python3 '[^']*my models\/candidate-2\/golden_cases\.py' ROWS\.csv/)
  expect(stdout).toMatch(/models init '[^']*my models\/candidate-2' --golden/)

  const needing = join(modelsDir, 'my models', 'needing')
  mkdirSync(needing)
  copyFileSync(join(import.meta.dirname, '../../../models/demo-1/p_up.onnx'), join(needing, 'head.onnx'))
  const lacking = models('init', needing)
  expect(lacking.status).toBe(1)
  expect(lacking.stdout).toContain('NEEDED')
  expect(lacking.stdout).not.toContain('Next: ')
})
