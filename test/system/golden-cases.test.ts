/**
 * models/golden_cases.py, which `models init` copies into a package: its cases have the predictions of the training, and they confirm
 * what was guessed. Where Python lacks onnxruntime, a stand-in runs the graphs with onnxruntime-node. Skipped, with one line, if
 * Python has no numpy, or no pillow for the pictures.
 */
import { spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { elementTypes, type ElementType } from '../../models/onnx-writer.js'
import { silentLog } from '../../src/base/index.js'
import { encodeImages, readPackage, type Manifest } from '../../src/model/index.js'
import { addExport } from '../helpers/exported-models.js'
import { galleries, galleryGraph } from '../helpers/gallery-graph.js'
import { noise } from '../harness/jpeg.js'
import { smallGraph } from '../helpers/model-packages.js'
import { models, modelsDir, sha256 } from '../helpers/models-command.js'
import { projectDir } from '../helpers/project.js'

const pathOf = (folders: readonly string[]): string => [...folders, process.env['PATH'] ?? ''].join(':')
/** Debian's numpy and pillow belong to /usr/bin/python3. */
const pathWith = (names: string): string | undefined =>
  [pathOf([]), pathOf(['/usr/bin'])].find((each) => hasModules(each, names))
const picturesPath = pathWith('numpy, PIL')
const path = picturesPath ?? pathWith('numpy')
if (picturesPath === undefined) {
  const lacking = path === undefined ? 'numpy' : 'pillow for its pictures'
  console.log(`skipped: test/system/golden-cases.test.ts needs Python with ${lacking}`)
}
const stub = join(projectDir, 'test/helpers/onnxruntime-stub')
const isReal = hasModules(path ?? '', 'onnxruntime')

function hasModules(candidate: string, names: string): boolean {
  return spawnSync('python3', ['-c', `import ${names}`], { env: { PATH: candidate } }).status === 0
}

function attempt(script: string, ...args: string[]): SpawnSyncReturns<string> {
  const env = { ...process.env, PATH: path, ...(isReal ? {} : { PYTHONPATH: stub }) }
  return spawnSync('python3', [script, ...args], { encoding: 'utf8', env })
}

function run(script: string, ...args: string[]): string {
  const { stdout, stderr, status } = attempt(script, ...args)
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

test.skipIf(path === undefined)(
  'an empty cell is null in the case, and the model gets what the service serves for it',
  () => {
    const directory = addExport(modelsDir, 'trees')
    models('init', directory)
    // Of this feature the value for missing inputs is not 0.
    const [file, rows] = [join(directory, 'manifest.json'), join(directory, 'rows.csv')]
    const drafted = JSON.parse(readFileSync(file, 'utf8')) as Manifest
    const share = 'up_share_smoothed'
    const features = [share, ...(drafted.features ?? []).slice(1)]
    const manifest: Manifest = { ...drafted, features, draft: [], missing: 'imputed' }
    writeFileSync(file, JSON.stringify(manifest))
    const lines = readFileSync(join(directory, 'train.csv'), 'utf8').trimEnd().split('\n').slice(1)
    const header = `${share},up_log,up_per_view,created_age_log`
    writeFileSync(rows, `${header}\n${lines.map((line) => line.replace(/^[^,]*/, '')).join('\n')}\n`)
    const [script, out] = [join(directory, 'golden_cases.py'), join(directory, 'from-training.json')]
    expect(attempt(script, rows, '--out', out).stderr).toMatch(/has an empty cell: write .* --catalogue/)
    const catalogue = join(directory, 'catalogue.json')
    writeFileSync(catalogue, models('features', '--json').stdout)
    run(script, rows, '--catalogue', catalogue, '--out', out)
    const { cases } = JSON.parse(readFileSync(out, 'utf8')) as Delivery
    expect(cases.map(({ features: values }) => values[share])).toEqual(cases.map(() => null))
    // The cases decide between the two values of a missing one, if that was guessed.
    writeFileSync(file, JSON.stringify({ ...manifest, draft: ['missing'], missing: 'nan' }))
    models('init', directory, '--golden', out)
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ missing: 'imputed' })
    expect(JSON.parse(readFileSync(file, 'utf8'))).not.toHaveProperty('draft')
    expect(models('verify', 'trees').stdout).toMatch(/\nPASS {2}golden {7}20 golden cases/)
  },
)

test.skipIf(path === undefined).each([
  ['stated', 2],
  ['free', 'k'],
])(
  'inputs take their part of the features, and what is served for missing ones; columns: %s',
  (_, columns) => {
    const directory = join(modelsDir, 'parts')
    mkdirSync(directory)
    const rate = 'up_share_smoothed'
    const head = smallGraph({
      inputs: [
        { name: 'age', shape: ['N', 1] },
        { name: 'num', shape: ['N', columns] },
      ],
      constants: [{ name: 'factors', shape: [2, 1], values: Float32Array.of(0.5, -0.25) }],
      operators: [
        { type: 'MatMul', inputs: ['num', 'factors'], outputs: ['weighted'] },
        { type: 'Add', inputs: ['weighted', 'age'], outputs: ['sum'] },
        { type: 'Sigmoid', inputs: ['sum'], outputs: ['probs'] },
      ],
    })
    const manifest: Manifest = {
      model_version: 'parts',
      kind: 'trained',
      features: [rate, { name: rate, transform: 'log1p' }, 'created_age_log'],
      head: {
        file: 'head.onnx',
        sha256: sha256(head),
        inputs: { features: ['num', 'age'] },
        outputs: { p_views: { name: 'probs' } },
      },
    }
    writeFileSync(join(directory, 'head.onnx'), head)
    writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest))
    copyFileSync(join(projectDir, 'models/golden_cases.py'), join(directory, 'golden_cases.py'))
    const [rows, out] = [join(directory, 'rows.csv'), join(directory, 'from-training.json')]
    const share = (sum: number): number => 1 / (1 + Math.exp(-sum))
    const lines = [
      `${rate},log1p(${rate}),created_age_log,p_views`,
      `1,2,3,${share(3)}`,
      `2,1,0.5,${share(1.25)}`,
      // The values for missing inputs: a half, and its logarithm.
      `,,1,${share(1.25 - Math.log1p(0.5) / 4)}`,
    ]
    writeFileSync(rows, `${lines.join('\n')}\n`)
    const catalogue = join(directory, 'catalogue.json')
    writeFileSync(catalogue, models('features', '--json').stdout)
    expect(run(join(directory, 'golden_cases.py'), rows, '--catalogue', catalogue, '--out', out)).toMatch(
      /differ by at most \S+e-0[789]\n/,
    )
    models('init', directory, '--golden', out)
    expect(models('verify', 'parts').stdout).toMatch(/\nPASS {2}golden {7}3 golden cases/)
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

type ImageMembers = Omit<
  NonNullable<Manifest['image']>,
  'file' | 'sha256' | 'input' | 'output' | 'dim' | 'pooling'
>

const size = { width: 16, height: 12 }
const valueCount = 3 * size.width * size.height
const normalised = { mean: [0.5, 0.25, 0.125], std: [0.5, 0.25, 0.5] } satisfies Partial<ImageMembers>

/** The vector of a picture is its tensor, and each value of it counts in the head. */
function addPictures(image: ImageMembers, element: ElementType): string {
  const directory = join(modelsDir, 'pictures')
  mkdirSync(directory)
  const encoder = smallGraph({
    inputs: [
      {
        name: 'pixels',
        shape:
          image.layout === 'nhwc' ? ['N', size.height, size.width, 3] : ['N', 3, size.height, size.width],
        element,
      },
    ],
    outputs: [{ name: 'embeds', shape: ['N', valueCount] }],
    operators: [
      {
        type: 'Cast',
        inputs: ['pixels'],
        outputs: ['values'],
        attributes: { to: { int: elementTypes.float32 } },
      },
      { type: 'Flatten', inputs: ['values'], outputs: ['embeds'] },
    ],
  })
  const head = smallGraph({
    inputs: [{ name: 'image', shape: ['N', valueCount] }],
    constants: [
      {
        name: 'weights',
        shape: [valueCount, 1],
        values: Float32Array.from({ length: valueCount }, (_, index) => Math.cos(index) / 4000),
      },
    ],
    operators: [
      { type: 'MatMul', inputs: ['image', 'weights'], outputs: ['sum'] },
      { type: 'Sigmoid', inputs: ['sum'], outputs: ['probs'] },
    ],
  })
  const manifest: Manifest = {
    model_version: 'pictures',
    kind: 'trained',
    head: {
      file: 'head.onnx',
      sha256: sha256(head),
      inputs: { image: 'image' },
      outputs: { p_views: { name: 'probs' } },
    },
    image: {
      file: 'image.onnx',
      sha256: sha256(encoder),
      input: 'pixels',
      output: 'embeds',
      dim: valueCount,
      pooling: 'mean',
      ...image,
    },
  }
  writeFileSync(join(directory, 'head.onnx'), head)
  writeFileSync(join(directory, 'image.onnx'), encoder)
  writeFileSync(join(directory, 'manifest.json'), JSON.stringify(manifest))
  copyFileSync(join(projectDir, 'models/golden_cases.py'), join(directory, 'golden_cases.py'))
  return directory
}

/** The tensors of pictures by the script in the package. */
function pixelsOf(directory: string, files: readonly string[]): number[][] {
  const script = join(directory, '..', 'pixels.py')
  writeFileSync(
    script,
    `import json, sys
sys.path.insert(0, sys.argv[1])
import golden_cases
manifest = json.loads((golden_cases.PACKAGE / "manifest.json").read_text())
images = golden_cases.Images(manifest["image"], 0)
print(json.dumps([images.vector({"images": file}).tolist() for file in sys.argv[2:]]))
`,
  )
  return JSON.parse(run(script, directory, ...files)) as number[][]
}

test.skipIf(picturesPath === undefined).each<[string, ElementType, ImageMembers]>([
  ['padding on the right, as bytes', 'uint8', { resize: size, pad: { color: [10, 20, 250], side: 'end' } }],
  [
    'padding around, cropped, normalised, blue first and channels last',
    'float32',
    {
      ...normalised,
      resize: { width: 21, height: 17 },
      pad: { color: [10, 20, 250], side: 'both' },
      crop: size,
      interpolation: 'bilinear',
      channels: 'bgr',
      layout: 'nhwc',
    },
  ],
  [
    'padding on the left',
    'float32',
    { ...normalised, resize: size, pad: { color: [0, 0, 0], side: 'start' } },
  ],
  ['a shortest edge and a crop', 'float32', { ...normalised, resize: { shortest_edge: 17 }, crop: size }],
])('pictures with %s have the pixels of the service, and confirm it', async (_, element, image) => {
  const directory = addPictures(image, element)
  const files = ['wide.jpg', 'tall.jpg', 'square.jpg']
  const pictures = [noise(45, 20), noise(20, 33), noise(30, 30)]
  for (const [index, file] of files.entries()) await pictures[index]!.jpeg().toFile(join(directory, file))
  const options = { modelsDir, version: 'pictures', executionProviders: ['cpu'], log: silentLog }
  const served = await encodeImages(
    await readPackage(modelsDir, 'pictures'),
    files.map((file) => readFileSync(join(directory, file))),
    options,
  )
  expect(pixelsOf(directory, files)).toEqual(served.map(({ vector }) => [...(vector ?? [])]))
  const [rows, out] = [join(directory, 'rows.csv'), join(directory, 'from-training.json')]
  writeFileSync(rows, `images\n${files.join('\n')}\n${files.join(' ')}\n`)
  run(join(directory, 'golden_cases.py'), rows, '--out', out)
  const { stdout, stderr, status } = models('init', directory, '--golden', out)
  expect(stdout).toContain('4 cases')
  expect([stderr, status]).toEqual(['', 0])
})
