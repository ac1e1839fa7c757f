/**
 * Parses and checks `manifest.json`: first its shape, then how its members fit together. An error message names the
 * failing paths and the rules they break.
 */
import typia from 'typia'
import { headNames, type HeadName } from '../../contract/index.js'
import { ModelError } from '../model.js'
import { shapeProblems } from './manifest-problems.js'
import type { GraphManifest, HeadManifest, ImageManifest, Manifest } from './manifest.js'

const isManifest = typia.createEquals<Manifest>()
/** The heads that a score is computed from; a model must have one of them. */
const scoredHeads: readonly HeadName[] = headNames.filter((name) => name !== 'downvote_share')
const placeholderForm = /\{[A-Za-z_]+\}/g

/**
 * The manifest in `text`. Throws a `ModelError` that names `file`, each failing path and the rule it breaks.
 */
export function parseManifest(text: string, file: string): Manifest {
  const value = parse(text, file)
  const refused = (problems: readonly string[]): ModelError =>
    new ModelError(problems.map((problem) => `${file}: ${problem}`).join('\n'))
  if (!isManifest(value)) {
    const problems = shapeProblems(value)
    throw refused(problems.length > 0 ? problems : ['the manifest does not follow its JSON schema'])
  }
  const problems = contradictions(value)
  if (problems.length > 0) throw refused(problems)
  return value
}

/** The head graphs, one or more. */
export function headGraphs({ head }: Manifest): readonly HeadManifest[] {
  return Array.isArray(head) ? head : [head]
}

/** The columns of the feature input, by the names that `findFeature` knows, such as `views` or `log1p(views)`. */
export function featureNames({ features = [] }: Manifest): string[] {
  return features.map((feature) => {
    if (typeof feature === 'string') return feature
    return feature.transform === 'raw' ? feature.name : `${feature.transform}(${feature.name})`
  })
}

/** The values of a missing embedding: NaN or 0. */
export function missingEmbedding(manifest: Manifest, encoder: 'text' | 'image'): number {
  const { missing_embedding = manifest.missing === 'nan' ? 'nan' : 'zeros' } = manifest[encoder] ?? {}
  return missing_embedding === 'nan' ? NaN : 0
}

/** The heads that the model has, in the order of the contract. */
export function headsOf(manifest: Manifest): HeadName[] {
  return headNames.filter((name) => headGraphs(manifest).some(({ outputs }) => outputs[name] !== undefined))
}

/** Every graph of the model with its member of the manifest: `head`, or `head[1]` of several, `text`, `image`. */
export function namedGraphs(manifest: Manifest): { readonly place: string; readonly graph: GraphManifest }[] {
  const { head, text, image } = manifest
  const heads = Array.isArray(head)
    ? head.map((graph, index) => ({ place: `head[${index}]`, graph }))
    : [{ place: 'head', graph: head }]
  return [
    ...heads,
    ...(text === undefined ? [] : [{ place: 'text', graph: text }]),
    ...(image === undefined ? [] : [{ place: 'image', graph: image }]),
  ]
}

/** Every file that the manifest names, with its hash and its member of the manifest. */
export function namedFiles(
  manifest: Manifest,
): { readonly place: string; readonly file: string; readonly sha256: string }[] {
  const { text, golden } = manifest
  return [
    ...namedGraphs(manifest).map(({ place, graph: { file, sha256 } }) => ({ place, file, sha256 })),
    ...(text === undefined ? [] : [{ place: 'text.tokenizer', ...text.tokenizer }]),
    ...(golden === undefined ? [] : [{ place: 'golden', file: golden.file, sha256: golden.sha256 }]),
  ]
}

function parse(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ModelError(`${file} is not JSON: ${(cause as Error).message}`, { cause })
  }
}

/** Problems that the type cannot express. */
function contradictions(manifest: Manifest): string[] {
  return [
    ...dateProblems(manifest.provenance?.date),
    ...featureProblems(manifest),
    ...headProblems(manifest),
    ...encoderProblems(manifest),
    ...imageProblems(manifest.image),
  ]
}

/** The type checks the format of a date; a day such as 30 February passes it. */
function dateProblems(date: string | undefined): string[] {
  if (date === undefined || new Date(date).getUTCDate() === Number(date.slice('YYYY-MM-'.length))) return []
  return [`provenance.date must be a day of the calendar, and is "${date}"`]
}

function featureProblems(manifest: Manifest): string[] {
  const names = featureNames(manifest)
  const isRead = headGraphs(manifest).some(({ inputs }) => inputs.features !== undefined)
  return [
    ...(isRead && names.length === 0 ? ['features is required, since a head has an input for features'] : []),
    ...(new Set(names).size === names.length ? [] : ['features must not name an item twice']),
  ]
}

function headProblems(manifest: Manifest): string[] {
  const graphs = headGraphs(manifest)
  const givenTwice = headNames.filter(
    (name) => graphs.filter(({ outputs }) => outputs[name] !== undefined).length > 1,
  )
  const isNothing = !headsOf(manifest).some((name) => scoredHeads.includes(name))
  const perGraph = graphs.flatMap(({ inputs, outputs }, index) => {
    const place = Array.isArray(manifest.head) ? `head[${index}]` : 'head'
    const names = Object.values(inputs)
    return [
      ...(names.length > 0 ? [] : [`${place}.inputs must have at least one of features, text, image`]),
      ...(new Set(names).size === names.length ? [] : [`${place}.inputs must have different names`]),
      ...(Object.keys(outputs).length > 0 || !Array.isArray(manifest.head)
        ? []
        : [`${place}.outputs must have at least one head`]),
    ]
  })
  return [
    ...perGraph,
    ...givenTwice.map((name) => `head ${name} comes from more than one graph`),
    ...(isNothing ? [`head.outputs must have at least one of ${scoredHeads.join(', ')}`] : []),
  ]
}

function encoderProblems(manifest: Manifest): string[] {
  const graphs = headGraphs(manifest)
  const problems = (['text', 'image'] as const).flatMap((encoder) => {
    const isUsed = graphs.some(({ inputs }) => inputs[encoder] !== undefined)
    const isThere = manifest[encoder] !== undefined
    if (isUsed && !isThere) return [`a head has an input for ${encoder}, and there is no ${encoder} encoder`]
    if (isThere && !isUsed) return [`there is a ${encoder} encoder, and no head has an input for it`]
    return []
  })
  const unknown = [...(manifest.text?.template.matchAll(placeholderForm) ?? [])]
    .map(([placeholder]) => placeholder)
    .filter((placeholder) => placeholder !== '{title}' && placeholder !== '{body}')
  return [
    ...problems,
    ...unknown.map((name) => `text.template holds ${name}, and only {title} and {body} are known`),
  ]
}

function imageProblems(image: ImageManifest | undefined): string[] {
  if (image === undefined) return []
  const { resize, crop } = image
  const [width, height] =
    'shortest_edge' in resize ? [resize.shortest_edge, resize.shortest_edge] : [resize.width, resize.height]
  return [
    ...('shortest_edge' in resize && crop === undefined
      ? ['image.resize.shortest_edge needs image.crop: the images of a batch must have one size']
      : []),
    ...(crop !== undefined && (crop.width > width || crop.height > height)
      ? ['image.crop must not be larger than the resized image']
      : []),
  ]
}
