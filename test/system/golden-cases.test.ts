/**
 * models/golden_cases.py, which `models init` copies into a package: its cases have the predictions of the training, and they confirm
 * what was guessed. Where Python lacks onnxruntime, a stand-in runs the graphs with onnxruntime-node. Skipped, with one line, if
 * Python has no numpy.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { addExport } from '../helpers/exported-models.js'
import { galleries, galleryGraph } from '../helpers/gallery-graph.js'
import { models, modelsDir } from '../helpers/models-command.js'
import { projectDir } from '../helpers/server-process.js'

const pathOf = (folders: readonly string[]): string => [...folders, process.env['PATH'] ?? ''].join(':')
/** Debian's numpy belongs to /usr/bin/python3. */
const path = [pathOf([]), pathOf(['/usr/bin'])].find((each) => hasModules(each, 'numpy'))
if (path === undefined) console.log('skipped: test/system/golden-cases.test.ts needs Python with numpy')
const stub = join(projectDir, 'test/helpers/onnxruntime-stub')

function hasModules(candidate: string, names: string): boolean {
  return spawnSync('python3', ['-c', `import ${names}`], { env: { PATH: candidate } }).status === 0
}

function run(script: string, ...args: string[]): string {
  const isReal = hasModules(path ?? '', 'onnxruntime')
  const env = { ...process.env, PATH: path, ...(isReal ? {} : { PYTHONPATH: stub }) }
  const { stdout, stderr, status } = spawnSync('python3', [script, ...args], { encoding: 'utf8', env })
  expect([stderr, status]).toEqual(['', 0])
  return stdout
}

interface Delivery {
  readonly cases: readonly { features: Record<string, number | null>; heads: Record<string, number> }[]
}

test.skipIf(path === undefined)('cases have the predictions of the training, and confirm a draft', () => {
  const directory = addExport(modelsDir, 'pipeline')
  models('init', directory)
  const [rows, out] = [join(directory, 'predictions.csv'), join(directory, 'from-training.json')]
  const printed = run(join(directory, 'golden_cases.py'), rows, '--out', out)
  expect(printed).toMatch(
    /^p_views: predictions of the training and of the ONNX files differ by at most \d(\.\d)?e-0[789]\n/,
  )
  const { cases } = JSON.parse(readFileSync(out, 'utf8')) as Delivery
  const [header = '', first = ''] = readFileSync(rows, 'utf8').split('\n')
  const values = first.split(',').map(Number)
  expect(cases).toHaveLength(6)
  expect({ ...cases[0]?.features, ...cases[0]?.heads }).toEqual(
    Object.fromEntries(header.split(',').map((name, index) => [name, values[index]])),
  )
  const { stdout, status } = models('init', directory, '--golden', out, '--json')
  expect(status).toBe(0)
  expect((JSON.parse(stdout) as { manifest: object }).manifest).toMatchObject({ draft: ['kind'] })
  expect(models('verify', 'pipeline').stdout).toMatch(/\nPASS {2}golden {7}6 golden cases/)
  // The other column is the probability of the other class.
  writeFileSync(
    join(directory, 'manifest.json'),
    readFileSync(join(directory, 'manifest.json'), 'utf8').replace('"column": 1', '"column": 0'),
  )
  expect(models('verify', 'pipeline').stdout).toMatch(/\nFAIL {2}golden /)
})

test.skipIf(path === undefined)(
  'without predictions the ONNX files compute the heads, of rows with missing values too',
  () => {
    const directory = addExport(modelsDir, 'trees')
    models('init', directory)
    const [rows, out] = [join(directory, 'train.csv'), join(directory, 'from-training.json')]
    const printed = run(join(directory, 'golden_cases.py'), rows, '--cases', '12', '--out', out)
    expect(printed).toContain(
      'p_up: computed by the ONNX files; add a column p_up with the predictions of the training\n',
    )
    const { cases } = JSON.parse(readFileSync(out, 'utf8')) as Delivery
    expect(cases).toHaveLength(12)
    expect(cases.flatMap(({ features }) => Object.values(features))).toContain(null)
    models('init', directory, '--golden', out)
    expect(models('verify', 'trees').stdout).toMatch(/\nPASS {2}golden {7}12 golden cases/)
  },
)

test.skipIf(path === undefined)('rows name the gallery of a post, for a model that reads its index', () => {
  const directory = join(modelsDir, 'galleries')
  mkdirSync(directory)
  writeFileSync(join(directory, 'p_views.onnx'), galleryGraph(['N']))
  writeFileSync(join(directory, 'galleries.json'), JSON.stringify(galleries))
  models('init', directory)
  const [rows, out] = [join(directory, 'rows.csv'), join(directory, 'from-training.json')]
  writeFileSync(rows, 'gall_id,p_views\ncat,0.75\nunheard of,0.125\n등산,0.5\n')
  expect(run(join(directory, 'golden_cases.py'), rows, '--out', out)).toMatch(/differ by at most 0\n/)
  models('init', directory, '--golden', out)
  expect(models('verify', 'galleries').stdout).toMatch(/\nPASS {2}golden {7}3 golden cases/)
})
