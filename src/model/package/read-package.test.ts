/**
 * Model packages on disk: which are accepted, and the error messages for the others.
 */
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  modelsDir,
  sigmoidGraph,
  temporaryModelsDir,
  writePackage,
} from '../../../test/helpers/model-packages.js'
import { ModelError } from '../model.js'
import type { HeadManifest, Manifest } from './manifest.js'
import { parseManifest } from './parse-manifest.js'
import { readHashed } from './read-file.js'
import { readPackage } from './read-package.js'
import { activeVersion, listModels, shadowVersions } from './selection.js'

/** Encoders of a manifest. */
const text = {
  file: 'text/model.onnx',
  sha256: sha256('text/model.onnx'),
  tokenizer: { file: 'text/tokenizer.json', sha256: sha256('text/tokenizer.json') },
  template: '{title}\n{body}',
  tokens_max: 64,
  pooling: 'mean',
  dim: 8,
}
const image = {
  file: 'image.onnx',
  sha256: sha256(''),
  input: 'pixels',
  output: 'vectors',
  dim: 4,
  resize: { shortest_edge: 256 },
  crop: { width: 224, height: 224 },
  mean: [0, 0, 0],
  std: [1, 1, 1],
  pooling: 'max',
}

describe('a package', () => {
  test('is read with its features in the order of the manifest', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph, { features: ['up_log', 'views_log'] })
    const modelPackage = await readPackage(directory, 'v1')
    expect(modelPackage.manifest.model_version).toBe('v1')
    expect(modelPackage.features.map((feature) => feature.name)).toEqual(['up_log', 'views_log'])
    const path = join(directory, 'v1', 'head.onnx')
    const { sha256 } = modelPackage.manifest.head as HeadManifest
    expect(modelPackage.files).toEqual([
      { member: 'head', file: 'head.onnx', path, sha256, bytes: sigmoidGraph.length },
    ])
    for (const entry of modelPackage.files) await readHashed(entry.path, entry.sha256)
  })

  test('lists all its files, including those in folders', async () => {
    const directory = temporaryModelsDir()
    const manifest = writePackage(directory, 'v1', sigmoidGraph)
    mkdirSync(join(directory, 'v1', 'text'))
    for (const file of ['text/model.onnx', 'text/tokenizer.json', 'golden.json'])
      writeFileSync(join(directory, 'v1', file), file)
    writePackage(directory, 'v1', sigmoidGraph, {
      head: [{ ...(manifest.head as HeadManifest), inputs: { text: 'text' } }],
      text,
      golden: { file: 'golden.json', sha256: sha256('golden.json') },
    })
    const { files } = await readPackage(directory, 'v1')
    expect(files.map(({ member, file }) => `${member} ${file}`)).toEqual([
      'head[0] head.onnx',
      'text text/model.onnx',
      'text.tokenizer text/tokenizer.json',
      'golden golden.json',
    ])
  })

  test('whose file differs from its SHA-256 is reported', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph)
    writeFileSync(join(directory, 'v1', 'head.onnx'), 'something else')
    const modelPackage = await readPackage(directory, 'v1')
    const [head] = modelPackage.files
    await expect(readHashed(head!.path, head!.sha256)).rejects.toThrow(
      /head\.onnx has SHA-256 [0-9a-f]{64}; the manifest states/,
    )
  })

  test('whose head is a directory is refused', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph)
    rmSync(join(directory, 'v1', 'head.onnx'))
    mkdirSync(join(directory, 'v1', 'head.onnx'))
    await expectRefusal(directory, 'v1', /head\.onnx is not a file/)
  })

  test('whose head is missing is refused', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph)
    rmSync(join(directory, 'v1', 'head.onnx'))
    await expectRefusal(directory, 'v1', /head\.onnx does not exist/)
  })

  test('whose directory is not named for its version is refused', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph, { model_version: 'v2' })
    await expectRefusal(directory, 'v1', /model_version is v2, but the directory is named v1/)
  })

  test('with features that the catalogue lacks is refused, with their names', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph, { features: ['views_log', 'mood', 'luck'] })
    await expectRefusal(directory, 'v1', /features that the catalogue lacks: mood, luck/)
  })

  test('with a mistyped feature is refused with the nearest name', async () => {
    const directory = temporaryModelsDir()
    const features = ['view_log', { name: 'comment_cnts', transform: 'log1p' }, 'luck']
    writePackage(directory, 'v1', sigmoidGraph, { features })
    await expectRefusal(
      directory,
      'v1',
      /lacks: view_log \(did you mean views_log\?\), log1p\(comment_cnts\) \(did you mean log1p\(comment_cnt\)\?\), luck$/,
    )
  })

  test('may request a transform of a feature, and needs no features if no head reads them', async () => {
    const directory = temporaryModelsDir()
    const features = ['up', { name: 'views', transform: 'log1p' }, { name: 'down', transform: 'raw' }]
    const manifest = writePackage(directory, 'v1', sigmoidGraph, { features })
    const modelPackage = await readPackage(directory, 'v1')
    expect(modelPackage.features.map(({ name }) => name)).toEqual(['up', 'log1p(views)', 'down'])
    const head = { ...(manifest.head as HeadManifest), inputs: { text: 'features' } }
    writePackage(directory, 'v1', sigmoidGraph, { features: undefined, head, text })
    mkdirSync(join(directory, 'v1', 'text'))
    for (const name of ['model.onnx', 'tokenizer.json'])
      writeFileSync(join(directory, 'v1', 'text', name), '')
    expect((await readPackage(directory, 'v1')).features).toEqual([])
    writePackage(directory, 'v1', sigmoidGraph, { features: [], head, text })
    expect((await readPackage(directory, 'v1')).features).toEqual([])
  })

  test('that does not exist is refused', async () => {
    await expectRefusal(temporaryModelsDir(), 'v1', /v1.manifest\.json does not exist/)
  })

  test.each(['../v1', '.', '', 'a/b', '.hidden'])('is not looked up for the invalid version %j', (version) =>
    expectRefusal(
      temporaryModelsDir(),
      version,
      /is not a model version: a version is the name of a directory in the models directory/,
    ),
  )
})

describe('a manifest is refused, naming file, path and rule, when', () => {
  const head = (changes: object) => (manifest: Manifest) => ({
    head: { ...(manifest.head as HeadManifest), ...changes },
  })
  const heads =
    (...changes: object[]) =>
    (manifest: Manifest) => ({
      head: changes.map((change) => ({ ...(manifest.head as HeadManifest), ...change })),
    })
  /** A manifest with encoders and a head that reads them. */
  const reading = (encoders: { text?: object; image?: object }) => (manifest: Manifest) => ({
    ...head({ inputs: Object.fromEntries(Object.keys(encoders).map((name) => [name, name])) })(manifest),
    ...encoders,
  })

  test.each<[string, (manifest: Manifest) => Record<string, unknown>, RegExp]>([
    [
      'its kind is unknown',
      () => ({ kind: 'toy' }),
      /manifest\.json: kind must be one of trained, transport-test, not "toy"/,
    ],
    ['a member is missing', () => ({ head: undefined }), /manifest\.json: head is required/],
    [
      'it has no features',
      () => ({ features: [] }),
      /features is required, since a head has an input for features/,
    ],
    [
      'it names a feature twice',
      () => ({ features: ['up_log', 'up_log'] }),
      /features must not name an item twice/,
    ],
    [
      'a feature is not a string',
      () => ({ features: [7] }),
      /features\[0\] must be a string or an object with name and transform, not 7/,
    ],
    ['a member is unknown', () => ({ featuers: [] }), /manifest\.json: featuers is not known/],
    [
      'a hash is malformed',
      head({ sha256: 'abc' }),
      /head\.sha256 must be a SHA-256 of 64 lower-case hexadecimal digits, not "abc"/,
    ],
    [
      'a file is outside the package',
      head({ file: '../head.onnx' }),
      /head\.file must be a file of the package, such as .*, not "\.\.\/head\.onnx"/,
    ],
    [
      'an output is not a head',
      head({ outputs: { p_luck: { name: 'x' } } }),
      /head\.outputs\.p_luck is not known/,
    ],
    [
      'a column is negative',
      head({ outputs: { p_up: { name: 'x', column: -1 } } }),
      /head\.outputs\.p_up\.column must be an integer from 0 to 4294967295, not -1/,
    ],
    [
      'it has no head that is scored',
      head({ outputs: { downvote_share: { name: 'probs' } } }),
      /head\.outputs must have at least one of p_views, p_comments, p_up/,
    ],
    [
      'a head has no inputs',
      head({ inputs: {} }),
      /head\.inputs must have at least one of features, text, im/,
    ],
    [
      'two inputs have one name',
      (manifest) => ({ ...head({ inputs: { features: 'x', text: 'x' } })(manifest), text }),
      /head\.inputs must have different names/,
    ],
    [
      'two graphs have one head',
      heads({}, { file: 'other.onnx' }),
      /manifest\.json: head p_views comes from more than one graph/,
    ],
    ['it has no graphs', heads(), /^[^:]*: head must be an array of 1 to 4 items, not \[\]$/],
    ['it has five graphs', heads({}, {}, {}, {}, {}), /head must be an array of 1 to 4 items, not /],
    [
      'one graph of several is invalid, with the path of that graph',
      heads({}, { inputs: { features: '' } }),
      /^[^:]*: head\[1\]\.inputs\.features must not be empty$/,
    ],
    [
      'a graph of several has no head',
      heads({}, { outputs: {} }),
      /head\[1\]\.outputs must have at least one head/,
    ],
    [
      'a head reads texts without an encoder',
      head({ inputs: { text: 'text' } }),
      /a head has an input for text, and there is no text encoder/,
    ],
    [
      'no head reads its encoder',
      () => ({ text }),
      /there is a text encoder, and no head has an input for it/,
    ],
    [
      'a template has no title',
      reading({ text: { ...text, template: 'x' } }),
      /text\.template must be a text that holds \{title\}, not "x"/,
    ],
    [
      'a template has an unknown placeholder',
      reading({ text: { ...text, template: '{title} {boby}' } }),
      /text\.template holds \{boby\}, and only \{title\} and \{body\} are known/,
    ],
    [
      'images are resized to different sizes',
      reading({ image: { ...image, crop: undefined } }),
      /image\.resize\.shortest_edge needs image\.crop/,
    ],
    [
      'the crop is larger than the resized image',
      reading({ image: { ...image, crop: { width: 224, height: 257 } } }),
      /image\.crop must not be larger/,
    ],
    [
      'a standard deviation is zero',
      reading({ image: { ...image, std: [1, 0, 1] } }),
      /image\.std\[1\] must be a number above 0, not 0/,
    ],
    [
      'a date is malformed',
      () => ({ provenance: { date: 'May 2026' } }),
      /provenance\.date must be a day of the calendar, such as 2026-03-02, not "May 2026"/,
    ],
    [
      'a date is not in the calendar',
      () => ({ provenance: { date: '2026-02-30' } }),
      /provenance\.date must be a day of the calendar, .*, not "2026-02-30"/,
    ],
    [
      'a provider has capital letters',
      () => ({ execution_providers: ['CUDA'] }),
      /execution_providers\[0\] must be one of .*cuda.*, not "CUDA"/,
    ],
  ])('%s', async (_, change, message) => {
    const directory = temporaryModelsDir()
    const manifest = writePackage(directory, 'v1', sigmoidGraph)
    writePackage(directory, 'v1', sigmoidGraph, change(manifest))
    await expectRefusal(directory, 'v1', message)
  })

  test('it is not JSON', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph)
    writeFileSync(join(directory, 'v1', 'manifest.json'), '{"model_version":')
    await expectRefusal(directory, 'v1', /manifest\.json is not JSON/)
  })
})

test.each<[string, object]>([
  ['reads texts', { head: readingHead('text'), text }],
  ['reads images', { head: readingHead('image'), image }],
  ['has a provenance', { provenance: { trained_on: 'cycles of May', date: '2026-05-31', note: 'n' } }],
  ['asks for NaN', { missing: 'nan' }],
])('a manifest that %s is accepted', (_, change) => {
  const manifest = {
    model_version: 'v1',
    kind: 'trained',
    features: ['up_log'],
    head: readingHead('features'),
  }
  expect(parseManifest(JSON.stringify({ ...manifest, ...change }), 'manifest.json')).toMatchObject(change)
})

describe('a models directory', () => {
  test('lists the versions that have a manifest, sorted by name', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v2', sigmoidGraph)
    writePackage(directory, 'v1', sigmoidGraph)
    writePackage(directory, 'not-a-model', sigmoidGraph)
    rmSync(join(directory, 'not-a-model', 'manifest.json'))
    writeFileSync(join(directory, 'README.md'), '')
    expect(await listModels(directory)).toEqual(['v1', 'v2'])
  })

  test('lists a package that its user may not read, and none for links that lead to no directory', async () => {
    const directory = temporaryModelsDir()
    writePackage(directory, 'v1', sigmoidGraph)
    mkdirSync(join(directory, 'v2'), { mode: 0 })
    symlinkSync(join(directory, 'nothing'), join(directory, 'v3'))
    symlinkSync(join(directory, 'v1', 'manifest.json'), join(directory, 'v4'))
    // A command that another test has run may have made new files private.
    for (const path of [directory, join(directory, 'v1')]) chmodSync(path, 0o755)
    await asUser(async () => {
      expect(await listModels(directory)).toEqual(['v1', 'v2'])
      await expect(readPackage(directory, 'v2')).rejects.toThrow(/v2.manifest\.json cannot be read: EACCES/)
    })
  })

  test('names its active version in ACTIVE, on one line', async () => {
    const directory = temporaryModelsDir()
    writeFileSync(join(directory, 'ACTIVE'), 'v2\n')
    expect(await activeVersion(directory)).toBe('v2')
    for (const text of ['', 'v1\nv2\n', '../v1']) {
      writeFileSync(join(directory, 'ACTIVE'), text)
      await expect(activeVersion(directory)).rejects.toThrow(
        /ACTIVE must contain one line with a model version/,
      )
    }
    rmSync(join(directory, 'ACTIVE'))
    await expect(activeVersion(directory)).rejects.toThrow(
      /ACTIVE does not exist; `understudy models activate <version>` writes it$/,
    )
    const nowhere = join(directory, 'nowhere')
    await expect(activeVersion(nowhere)).rejects.toThrow(`the models directory ${nowhere} does not exist`)
  })

  test('names its shadows in SHADOW, one per line, and has none without that file', async () => {
    const directory = temporaryModelsDir()
    expect(await shadowVersions(directory)).toEqual([])
    for (const [text, versions] of [
      ['', []],
      ['v2\nv1\n', ['v2', 'v1']],
      [' v2 \r\n\n', ['v2']],
    ] as const) {
      writeFileSync(join(directory, 'SHADOW'), text)
      expect(await shadowVersions(directory)).toEqual(versions)
    }
    for (const text of ['../v1', 'v1\nv1', Array.from({ length: 9 }, (_, i) => `v${i}`).join('\n')]) {
      writeFileSync(join(directory, 'SHADOW'), text)
      await expect(shadowVersions(directory)).rejects.toThrow(
        /SHADOW must contain at most 8 distinct model versions/,
      )
    }
  })

  test('of this repository has valid packages, the active one among them', async () => {
    const versions = await listModels(modelsDir)
    expect(versions).toContain(await activeVersion(modelsDir))
    for (const version of versions)
      for (const entry of (await readPackage(modelsDir, version)).files)
        await readHashed(entry.path, entry.sha256)
  })
})

function readingHead(matrix: string): object {
  return {
    file: 'head.onnx',
    sha256: sha256(''),
    inputs: { [matrix]: matrix },
    outputs: { p_up: { name: 'p', activation: 'sigmoid' } },
  }
}

function sha256(content: string): string {
  return createHash('sha256').update(content).digest('hex')
}

async function expectRefusal(directory: string, version: string, message: RegExp): Promise<void> {
  const error: unknown = await readPackage(directory, version).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(ModelError)
  expect((error as ModelError).message).toMatch(message)
}

/** Root may read everything. */
async function asUser(work: () => Promise<void>): Promise<void> {
  const isRoot = process.getuid?.() === 0
  if (isRoot) process.seteuid?.('nobody')
  try {
    await work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}
