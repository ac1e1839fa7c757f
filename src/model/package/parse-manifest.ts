/**
 * Parses and checks `manifest.json`: first its shape, then how its members fit together. An error message names the
 * failing paths and the rules they break.
 */
import typia from 'typia'
import { headNames, type HeadName } from '../../contract/index.js'
import type { GraphManifest, HeadManifest, HeadOutput, ImageManifest, Manifest } from './manifest.js'
import { manifestType } from './manifest-schema.js'
import { parseTyped, refusal } from './parse-typed.js'

/** The manifest of a package that may lack heads. */
interface Headless extends Omit<Manifest, 'head'> {
  head?: HeadManifest | HeadManifest[]
}

const headlessType = typia.json.schema<Headless>()
/** The heads that a score is computed from; a model must have one of them. */
const scoredHeads: readonly HeadName[] = headNames.filter((name) => name !== 'downvote_share')
const placeholderPattern = /\{[A-Za-z_]+\}/g

/** The manifest in `text`. Throws a `ModelError` that names `file`, each failing path and the rule it breaks. */
export function parseManifest(text: string, file: string): Manifest {
  return withoutContradictions(parseTyped(text, file, manifestType), file)
}

/** Parses the manifest of a package that may lack heads: without them `head` is an empty list. */
export function parseEncoders(text: string, file: string): Manifest {
  return withoutContradictions({ head: [], ...parseTyped(text, file, headlessType) }, file)
}

function withoutContradictions(manifest: Manifest, file: string): Manifest {
  const problems = contradictions(manifest)
  if (problems.length > 0) throw refusal(file, problems)
  return manifest
}

export function headGraphs({ head }: Manifest): readonly HeadManifest[] {
  return Array.isArray(head) ? head : [head]
}

/** The columns of the feature input, by the names that `findFeature` accepts, such as `views` or `log1p(views)`. */
export function featureNames({ features = [] }: Manifest): string[] {
  return features.map((feature) => {
    if (typeof feature === 'string') return feature
    return feature.transform === 'raw' ? feature.name : `${feature.transform}(${feature.name})`
  })
}

/** The values of a missing embedding: NaN or 0. */
export function missingEmbeddings({ missing, text, image }: Manifest): Record<'text' | 'image', number> {
  const valueOf = (value = missing === 'nan' ? 'nan' : 'zeros'): number => (value === 'nan' ? NaN : 0)
  return { text: valueOf(text?.missing_embedding), image: valueOf(image?.missing_embedding) }
}

/** The heads that the model has, in the order of the contract. */
export function headsOf(manifest: Manifest): HeadName[] {
  return headNames.filter((name) => headGraphs(manifest).some(({ outputs }) => outputs[name] !== undefined))
}

/** Every graph of the model, heads first, with its member of the manifest: `head`, or `head[1]` of several, `text`, `image`. */
export function namedGraphs(
  manifest: Manifest,
): { readonly member: string; readonly graph: GraphManifest }[] {
  const { head, text, image } = manifest
  return [
    ...headGraphs(manifest).map((graph, index) => ({
      member: Array.isArray(head) ? `head[${index}]` : 'head',
      graph,
    })),
    ...(text === undefined ? [] : [{ member: 'text', graph: text }]),
    ...(image === undefined ? [] : [{ member: 'image', graph: image }]),
  ]
}

/** Every file that the manifest names, with its hash and its member of the manifest. */
export function namedFiles(
  manifest: Manifest,
): { readonly member: string; readonly file: string; readonly sha256: string }[] {
  const { text, golden } = manifest
  return [
    ...namedGraphs(manifest).flatMap(({ member, graph: { file, sha256, external_data: data = [] } }) => [
      { member, file, sha256 },
      ...data.map((one, index) => ({ member: `${member}.external_data[${index}]`, ...one })),
    ]),
    ...(text === undefined ? [] : [{ member: 'text.tokenizer', ...text.tokenizer }]),
    ...(golden === undefined ? [] : [{ member: 'golden', file: golden.file, sha256: golden.sha256 }]),
  ]
}

/** A rule between members: whether it is broken, and the problem then. */
type Rule = readonly [isBroken: boolean, problem: string]

/** Problems that the type cannot express. */
function contradictions(manifest: Manifest): string[] {
  const rules = [
    ...featureRules(manifest),
    ...galleryRules(manifest),
    ...(headGraphs(manifest).length === 0 ? [] : headRules(manifest)),
    ...encoderRules(manifest),
    ...imageRules(manifest.image),
  ]
  return rules.flatMap(([isBroken, problem]) => (isBroken ? [problem] : []))
}

function featureRules(manifest: Manifest): Rule[] {
  const names = featureNames(manifest)
  const isRead = headGraphs(manifest).some(({ inputs }) => inputs.features !== undefined)
  return [
    [isRead && names.length === 0, 'features is required, since a head has an input for features'],
    [hasDuplicates(names), 'features must not name an item twice'],
  ]
}

function galleryRules({ galleries = [], ...manifest }: Manifest): Rule[] {
  const isRead = headGraphs(manifest).some(({ inputs }) => inputs.gallery_index !== undefined)
  const repeated = firstRepeated(galleries)
  return [
    [isRead && galleries.length === 0, 'galleries is required, since a head has an input gallery_index'],
    [!isRead && galleries.length > 0, 'galleries has no effect: no head has an input gallery_index'],
    [repeated !== null, `galleries must not name a gallery twice: ${repeated}`],
  ]
}

function headRules(manifest: Manifest): Rule[] {
  const graphs = headGraphs(manifest)
  const isList = Array.isArray(manifest.head)
  const graphRules = graphs.flatMap(({ inputs, outputs }, index): Rule[] => {
    const member = isList ? `head[${index}]` : 'head'
    const names = Object.values(inputs).flat()
    return [
      [names.length === 0, `${member}.inputs must have at least one of features, text, image, gallery_index`],
      [hasDuplicates(names), `${member}.inputs must have different names`],
      [isList && Object.keys(outputs).length === 0, `${member}.outputs must have at least one head`],
      ...Object.entries(outputs).flatMap(([name, head]) => outputRules(`${member}.outputs.${name}`, head)),
    ]
  })
  const headRule = (name: HeadName): Rule => {
    const sources = graphs.filter(({ outputs }) => outputs[name] !== undefined)
    return [sources.length > 1, `head ${name} comes from more than one graph`]
  }
  const hasNoScoredHead = !headsOf(manifest).some((name) => scoredHeads.includes(name))
  const atLeastOne = `head.outputs must have at least one of ${scoredHeads.join(', ')}`
  return [...graphRules, ...headNames.map(headRule), [hasNoScoredHead, atLeastOne]]
}

function outputRules(member: string, { column, scale, offset, activation }: HeadOutput): Rule[] {
  const isSoftmax = activation === 'softmax'
  return [
    [scale === 0, `${member}.scale must not be 0: all posts would have one value`],
    [isSoftmax && column === undefined, `${member}.column is required for the activation softmax`],
    [isSoftmax && offset !== undefined, `${member}.offset has no effect with the activation softmax`],
  ]
}

function encoderRules(manifest: Manifest): Rule[] {
  const graphs = headGraphs(manifest)
  const rules = (['text', 'image'] as const).flatMap((encoder): Rule[] => {
    const isUsed = graphs.some(({ inputs }) => inputs[encoder] !== undefined)
    const hasEncoder = manifest[encoder] !== undefined
    return [
      [isUsed && !hasEncoder, `a head has an input for ${encoder}, and there is no ${encoder} encoder`],
      [
        hasEncoder && !isUsed && graphs.length > 0,
        `there is a ${encoder} encoder, and no head has an input for it`,
      ],
    ]
  })
  const placeholders = manifest.text?.template.match(placeholderPattern) ?? []
  return [
    ...rules,
    ...placeholders.map((name): Rule => {
      const isUnknown = name !== '{title}' && name !== '{body}'
      return [isUnknown, `text.template holds ${name}, and only {title} and {body} are known`]
    }),
  ]
}

function imageRules(image: ImageManifest | undefined): Rule[] {
  if (image === undefined) return []
  const { resize, pad, crop, scale, mean, std } = image
  const isEdge = 'shortest_edge' in resize
  const [width, height] = isEdge
    ? [resize.shortest_edge, resize.shortest_edge]
    : [resize.width, resize.height]
  return [
    [
      isEdge && pad !== undefined,
      'image.pad needs image.resize.width and image.resize.height: the size with the padding',
    ],
    [
      isEdge && crop === undefined,
      'image.resize.shortest_edge needs image.crop: the images of a batch must have one size',
    ],
    [
      crop !== undefined && (crop.width > width || crop.height > height),
      'image.crop must not be larger than the resized image',
    ],
    [(mean === undefined) !== (std === undefined), 'image.mean and image.std require each other'],
    [scale !== undefined && mean === undefined, 'image.scale requires image.mean and image.std'],
  ]
}

function hasDuplicates(names: readonly string[]): boolean {
  return firstRepeated(names) !== null
}

function firstRepeated(names: readonly string[]): string | null {
  const seen = new Set<string>()
  return names.find((name) => seen.size === seen.add(name).size) ?? null
}
