/**
 * A model that serves: package, features and session processes behind the `Model` interface.
 */
import { relative } from 'node:path'
import { gibibyte, ignoringErrors, withRelease } from '../base/index.js'
import { assert, type HeadColumns } from '../contract/index.js'
import { fillEmbeddings } from './features/embedding-rows.js'
import { compileFeatures, type FillFeatures } from './features/compile.js'
import { fillGalleryIndexes, type FillGalleryIndexes } from './features/gallery-index.js'
import { matrixNames } from './sessions/head-ports.js'
import { byName, clampHeads } from './sessions/head-shares.js'
import {
  type ImageEncoder,
  type Model,
  type ModelInputs,
  type TextEncoder,
  type FeatureRows,
  type Vectors,
} from './model.js'
import { missingEmbeddings } from './package/parse-manifest.js'
import { imageEncoderHash, modelIdentity, textEncoderHash } from './package/identity.js'
import { PackageFiles } from './package/package-files.js'
import { readPackage, type ModelPackage } from './package/read-package.js'
import type { Manifest } from './package/manifest.js'
import {
  planModel,
  timeLimitMsDefault,
  type HeadsPlan,
  type LoadOptions,
  type ModelPlans,
  type Role,
} from './sessions/plans.js'
import { providersOf, type Placement } from './sessions/placement.js'
import type { Ports } from './sessions/ports.js'
import { warmUpHeads } from './sessions/warm-up.js'
import {
  openEncoderHost,
  openHeadsHost,
  type EncoderHost,
  type HeadsHost,
  type ServingOptions,
} from './sessions/session-host.js'
import type { HeadRows, Matrices } from './sessions/batches.js'

const processBytesMaxDefault = 4 * gibibyte

export interface LoadedModel extends Model {
  /** Hash of everything that determines its scores. */
  readonly identity: string
  /** Those of which the heads read the index; empty: they read none. */
  readonly galleries: readonly string[]
  /** False while the process of the heads is being replaced: `predict` rejects immediately. */
  readonly available: boolean
  readonly processes: readonly { readonly role: Role; readonly pid: number }[]
  /** Where each graph runs; files are relative to the package. */
  readonly placements: readonly Placement[]
  /** Inputs and outputs of each graph, as its session declares them, in the same order. */
  readonly ports: readonly Ports[]
  /** null: there is no private copy. */
  readonly files: PackageFiles | null
  /** `predict` for rows whose features are known: for golden cases and checks. */
  predictRows(rows: FeatureRows): Promise<HeadColumns>
  close(): Promise<void>
}

interface Hosts {
  readonly heads: HeadsHost
  /** null: the model reads no texts. */
  readonly text: EncoderHost | null
  /** null: the model reads no images. */
  readonly image: EncoderHost | null
}

/** Reads the package of a version and loads it. */
export async function loadModel(options: LoadOptions): Promise<LoadedModel> {
  return loadPackage(await readPackage(options.modelsDir, options.version), options)
}

/**
 * Opens the graphs of a model package in processes and warms them up. Rejects with a `ModelError` that names the problem of
 * the package, or why no provider can serve it; then nothing is left running.
 */
export async function loadPackage(modelPackage: ModelPackage, options: LoadOptions): Promise<LoadedModel> {
  const { modelsDir, copiesDir, log } = options
  const files =
    copiesDir === undefined ? null : await PackageFiles.copy(modelPackage, { modelsDir, copiesDir, log })
  try {
    const plans = planModel(modelPackage, options, files)
    return assemble({ modelPackage, files }, plans.heads, await openHosts(plans, options), options)
  } catch (error) {
    await ignoringErrors(() => files?.remove())
    throw error
  }
}

/** One after the other: each start blocks the event loop for milliseconds. One that fails closes the others. */
async function openHosts({ heads, text, image }: ModelPlans, loadOptions: LoadOptions): Promise<Hosts> {
  const options = servingOptions(loadOptions)
  const opened: (HeadsHost | EncoderHost)[] = []
  const keep = <Host extends HeadsHost | EncoderHost>(host: Host): Host => {
    opened.push(host)
    return host
  }
  try {
    return {
      heads: keep(await openHeadsHost(heads, { ...options, warmUp: (run) => warmUpHeads(run, heads) })),
      text: text === null ? null : keep(await openEncoderHost(text, options)),
      image: image === null ? null : keep(await openEncoderHost(image, options)),
    }
  } catch (error) {
    await Promise.all(opened.map((host) => host.close()))
    throw error
  }
}

export function servingOptions(options: LoadOptions): ServingOptions {
  const { log, processBytesMax: bytesMax = processBytesMaxDefault, signal, onProcessLost } = options
  return { log, bytesMax, signal, onProcessLost, warmUpMsMax: options.timeLimitMs ?? timeLimitMsDefault }
}

function assemble(
  { modelPackage, files }: { readonly modelPackage: ModelPackage; readonly files: PackageFiles | null },
  plan: HeadsPlan,
  hosts: Hosts,
  options: LoadOptions,
): LoadedModel {
  const { manifest, features } = modelPackage
  const { timeLimitMs = timeLimitMsDefault } = options
  const fillers: Fillers = {
    features: compileFeatures(features, manifest.missing ?? 'imputed'),
    galleryIndexes: fillGalleryIndexes(manifest.galleries ?? []),
    missing: missingEmbeddings(manifest),
  }
  // The order of the replies.
  const { heads } = plan
  const predict = async (rows: HeadRows, limitMs = timeLimitMs): Promise<HeadColumns> => {
    const { count } = rows
    const columns = count === 0 ? heads.map(() => new Float32Array(0)) : await hosts.heads.run(rows, limitMs)
    assert(
      columns.length === heads.length && columns.every(({ length }) => length === count),
      'the reply to a batch has one value per row and head',
    )
    clampHeads(heads, columns)
    return byName(heads, columns)
  }
  return {
    version: manifest.model_version,
    identity: modelIdentity(manifest),
    kind: manifest.kind,
    files,
    get provider() {
      return providersOf(hosts.heads.placements)
    },
    get placements() {
      return [hosts.heads, hosts.text, hosts.image].flatMap((host) =>
        (host?.placements ?? []).map((placement) => ({
          ...placement,
          file: relative(modelPackage.directory, placement.file),
        })),
      )
    },
    get ports() {
      return [hosts.heads, hosts.text, hosts.image].flatMap((host) => host?.ports ?? [])
    },
    get available() {
      return hosts.heads.available
    },
    get processes() {
      return (['heads', 'text', 'image'] as const).flatMap((role) => {
        const pid = hosts[role]?.pid ?? null
        return pid === null ? [] : [{ role, pid }]
      })
    },
    text: textEncoder(manifest, hosts.text, timeLimitMs),
    image: imageEncoder(manifest, hosts.image, timeLimitMs),
    galleries: manifest.galleries ?? [],
    predict: (inputs, limitMs) => {
      const fill = (matrices: Matrices): void => fillMatrices(matrices, inputs, fillers)
      return predict({ count: inputs.count, fill }, limitMs)
    },
    predictRows: (rows) => {
      const fill = (matrices: Matrices): void => {
        for (const name of matrixNames) {
          const values = rows[name] ?? new Float32Array(name === 'gallery_index' ? matrices[name].length : 0)
          assert(values.length === matrices[name].length, `each row has the ${name} that the heads read`)
          matrices[name].set(values)
        }
      }
      return predict({ count: rows.count, fill })
    },
    async close() {
      await withRelease(
        () => Promise.all([hosts.heads.close(), hosts.text?.close(), hosts.image?.close()]),
        () => files?.remove(),
      )
    },
  }
}

/** What writes the matrices of a model. */
interface Fillers {
  readonly features: FillFeatures
  readonly galleryIndexes: FillGalleryIndexes
  /** The values of a missing embedding. */
  readonly missing: Readonly<Record<'text' | 'image', number>>
}

/** Writes right into the request to the process. */
function fillMatrices(
  { features, text, image, gallery_index }: Matrices,
  inputs: ModelInputs,
  fillers: Fillers,
): void {
  const { missing } = fillers
  if (features.length > 0) fillers.features(inputs, features)
  fillers.galleryIndexes(inputs, gallery_index)
  const slots = inputs.slots.subarray(0, inputs.count)
  fillEmbeddings(inputs.text, slots, text, missing.text)
  fillEmbeddings(inputs.image, slots, image, missing.image)
}

function textEncoder({ text }: Manifest, host: EncoderHost | null, timeLimitMs: number): TextEncoder | null {
  if (text === undefined || host === null) return null
  return {
    hash: textEncoderHash(text),
    dim: text.dim,
    encode: async (items, budgetMs) =>
      checked(
        await host.run({ items, budgetMs: budgetMs ?? null }, (budgetMs ?? 0) + timeLimitMs),
        items,
        text.dim,
      ),
  }
}

function imageEncoder(
  { image }: Manifest,
  host: EncoderHost | null,
  timeLimitMs: number,
): ImageEncoder | null {
  if (image === undefined || host === null) return null
  const { dim, pooling, required = false } = image
  return {
    hash: imageEncoderHash(image),
    dim,
    pooling,
    required,
    encode: async (items) => checked(await host.run({ items, budgetMs: null }, timeLimitMs), items, dim),
  }
}

function checked(reply: Vectors, { length }: readonly Uint8Array[], dim: number): Vectors {
  assert(reply.encoded.length === length, 'the reply of an encoder has a flag for each item')
  assert(reply.vectors.length === length * dim, 'the reply of an encoder has a vector for each item')
  return reply
}
