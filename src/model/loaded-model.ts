/**
 * A model that serves: package, features and session processes put together behind the `Model` interface.
 */
import { referenceCodec, type Codec } from '../codec/index.js'
import type { HeadColumns, HeadName } from '../contract/index.js'
import { fillEmbeddings } from './embedding-rows.js'
import {
  activeVersion,
  imageEncoderHash,
  modelIdentity,
  readPackage,
  textEncoderHash,
  type Manifest,
} from './package/index.js'
import type { FeatureRows } from './feature-rows.js'
import { compileFeatures, type FillFeatures } from './features/index.js'
import { byName, settleShares } from './head-shares.js'
import type { Model, ImageEncoder, ModelInputs, TextEncoder } from './model.js'
import { planModel, type PlanOptions } from './plans.js'
import type { IdleCores } from './priority.js'
import {
  headsCourier,
  plainCourier,
  SessionHost,
  startMsMax,
  type HeadRows,
  type HeadsPlan,
  type HostOptions,
  type ImagePlan,
  type ImageReply,
  type ImageRequest,
  type Matrices,
  type Role,
  type SessionProcess,
  type TextPlan,
  type TextReply,
  type TextRequest,
} from './sessions/index.js'

/** Of one batch, without another limit. */
export const timeLimitMsDefault = 30_000
const processBytesMaxDefault = 4 * 2 ** 30
/** Batches of new heads before they may serve: the least, and one large enough for all threads. */
const warmUpCounts = [1, 256]

export interface LoadOptions extends PlanOptions {
  readonly modelsDir: string
  /** Without one, the version that `ACTIVE` names. */
  readonly version?: string
  /** For one batch; past it the process is replaced. Texts have it on top of their budget. Default 30 s. */
  readonly timeLimitMs?: number
  /** Resident memory of each process, in bytes; past it the process is replaced. Linux only. Default 4 GiB. */
  readonly processBytesMax?: number
  /** Computes the features. Default: the reference. */
  readonly codec?: Codec
  /**
   * Beside a model that serves: one process at a time, since a start holds the event loop for milliseconds; and where
   * processes `mayRise` again, they start behind the service. `ended` gives up: no other process is started then, and
   * those that are there end. Default: as fast as can be.
   */
  readonly beside?: {
    readonly mayRise: boolean
    readonly cores: IdleCores
    readonly ended: AbortSignal
  }
}

export interface LoadedModel extends Model {
  /** Hash of all that shapes its scores. */
  readonly identity: string
  /** False while the process of the heads is being replaced: `predict` rejects at once. */
  readonly available: boolean
  /** Those that run now. */
  readonly processes: readonly { readonly role: Role; readonly pid: number }[]
  /** `predict` for rows whose features are known: for golden cases and checks. */
  predictRows(rows: FeatureRows): Promise<HeadColumns>
  close(): Promise<void>
}

type HeadsHost = SessionHost<HeadRows, Float32Array[]>
type TextHost = SessionHost<TextRequest, TextReply>
type ImageHost = SessionHost<ImageRequest, ImageReply>
const noHost = Promise.resolve(null)

/**
 * Loads a model package, opens its graphs in processes and warms them up. Rejects with a `ModelError` that says what
 * is wrong with the package, or why no provider can serve it; then nothing is left running.
 */
export async function loadModel(options: LoadOptions): Promise<LoadedModel> {
  const version = options.version ?? (await activeVersion(options.modelsDir))
  const modelPackage = await readPackage(options.modelsDir, version)
  const { manifest, features } = modelPackage
  const { codec = referenceCodec } = options
  const fillFeatures = compileFeatures(features, { codec, missing: manifest.missing ?? 'imputed' })
  const plans = planModel(modelPackage, options)
  const [heads, text, image] = await openAll(options, [
    () => openHeads(plans.heads, options),
    () => (plans.text === null ? noHost : openText(plans.text, options)),
    () => (plans.image === null ? noHost : openImage(plans.image, options)),
  ])
  return assemble({ manifest, plan: plans.heads, fillFeatures, heads, text, image, options })
}

interface Parts {
  readonly manifest: Manifest
  readonly plan: HeadsPlan
  readonly fillFeatures: FillFeatures
  readonly heads: HeadsHost
  readonly text: TextHost | null
  readonly image: ImageHost | null
  readonly options: LoadOptions
}

function assemble({ manifest, plan, fillFeatures, heads, text, image, options }: Parts): LoadedModel {
  const timeLimitMs = options.timeLimitMs ?? timeLimitMsDefault
  const predict = async (count: number, fill: (matrices: Matrices) => void): Promise<HeadColumns> => {
    if (count === 0)
      return byName(
        plan.heads,
        plan.heads.map(() => new Float32Array(0)),
      )
    const columns = await heads.run({ count, fill }, timeLimitMs)
    settleShares(plan.heads, columns)
    return byName(plan.heads, columns)
  }
  // A missing embedding is told as a missing value is.
  const missing = manifest.missing === 'nan' ? NaN : 0
  const hosts = [
    ['heads', heads],
    ['text', text],
    ['image', image],
  ] as const
  return {
    version: manifest.model_version,
    identity: modelIdentity(manifest),
    kind: manifest.kind,
    get provider() {
      return heads.provider
    },
    get available() {
      return heads.available
    },
    get processes() {
      return hosts.flatMap(([role, host]) => {
        const pid = host?.pid ?? null
        return pid === null ? [] : [{ role, pid }]
      })
    },
    text: textEncoder(manifest, text, timeLimitMs),
    image: imageEncoder(manifest, image, timeLimitMs),
    predict: (inputs, onFeatures) =>
      predict(inputs.count, (matrices) => {
        fillMatrices(matrices, inputs, fillFeatures, missing)
        onFeatures?.()
      }),
    predictRows: (rows) =>
      predict(rows.count, (matrices) => {
        for (const name of ['features', 'text', 'image'] as const) {
          const values = rows[name]
          if (values === null || matrices[name].length === 0) matrices[name].fill(missing)
          else matrices[name].set(values)
        }
      }),
    async close() {
      await Promise.all(hosts.map(async ([, host]) => host?.close()))
    },
  }
}

/** Right into the memory of the process that will read it. */
function fillMatrices(
  { features, text, image }: Matrices,
  inputs: ModelInputs,
  fillFeatures: FillFeatures,
  missing: number,
): void {
  if (features.length > 0) fillFeatures(inputs, features)
  const slots = inputs.slots.subarray(0, inputs.count)
  fillEmbeddings(inputs.text, slots, text, missing)
  fillEmbeddings(inputs.image, slots, image, missing)
}

function textEncoder({ text }: Manifest, host: TextHost | null, timeLimitMs: number): TextEncoder | null {
  if (text === undefined || host === null) return null
  return {
    hash: textEncoderHash(text),
    dim: text.dim,
    encode: (records, budgetMs) => host.run({ records, budgetMs }, budgetMs + timeLimitMs),
  }
}

function imageEncoder({ image }: Manifest, host: ImageHost | null, timeLimitMs: number): ImageEncoder | null {
  if (image === undefined || host === null) return null
  const { dim, pooling, required = false } = image
  return {
    hash: imageEncoderHash(image),
    dim,
    pooling,
    required,
    encode: (images) => host.run({ images }, timeLimitMs),
  }
}

type SharedOptions = Pick<HostOptions<unknown, unknown>, 'bytesMax' | 'log' | 'startsBehind' | 'ended'>

function shared({ log, processBytesMax, beside }: LoadOptions): SharedOptions {
  return {
    log,
    bytesMax: processBytesMax ?? processBytesMaxDefault,
    startsBehind: beside?.mayRise === true ? beside.cores : null,
    ended: beside?.ended,
  }
}

function openHeads(plan: HeadsPlan, options: LoadOptions): Promise<HeadsHost> {
  return SessionHost.open({
    name: 'the model',
    plan,
    openCourier: () => headsCourier(plan),
    describe: ({ count }) => `a batch of ${count} rows`,
    ...shared(options),
    warmUp: (process) => warmUp(process, plan.heads),
  })
}

/** Encoders run a batch of their own when they open, so there is no other warm-up. */
function openText(plan: TextPlan, options: LoadOptions): Promise<TextHost> {
  return SessionHost.open({
    name: 'the text encoder',
    plan,
    openCourier: () => plainCourier(),
    describe: ({ records }) => `a batch of ${records.length} texts`,
    ...shared(options),
  })
}

function openImage(plan: ImagePlan, options: LoadOptions): Promise<ImageHost> {
  return SessionHost.open({
    name: 'the image encoder',
    plan,
    openCourier: () => plainCourier(),
    describe: ({ images }) => `a batch of ${images.length} images`,
    ...shared(options),
  })
}

/** Rows of zeros: the heads must hold what they promise for them too. */
async function warmUp(
  process: SessionProcess<HeadRows, Float32Array[]>,
  heads: readonly HeadName[],
): Promise<void> {
  const fill = ({ features, text, image }: Matrices): void => {
    for (const matrix of [features, text, image]) matrix.fill(0)
  }
  for (const count of warmUpCounts) settleShares(heads, await process.run({ count, fill }, startMsMax))
}

type OpenHosts = readonly [
  () => Promise<HeadsHost>,
  () => Promise<TextHost | null>,
  () => Promise<ImageHost | null>,
]

/** All of the hosts, or none: one that fails closes the others. */
async function openAll(
  { beside }: LoadOptions,
  [openHeads, openText, openImage]: OpenHosts,
): Promise<readonly [HeadsHost, TextHost | null, ImageHost | null]> {
  const opening: Promise<HeadsHost | TextHost | ImageHost | null>[] = []
  const begin = <Host extends HeadsHost | TextHost | ImageHost | null>(
    open: () => Promise<Host>,
  ): Promise<Host> => {
    const host = open()
    opening.push(host)
    return host
  }
  try {
    if (beside === undefined) return await Promise.all([begin(openHeads), begin(openText), begin(openImage)])
    return [await begin(openHeads), await begin(openText), await begin(openImage)]
  } catch (error) {
    for (const host of await Promise.allSettled(opening)) {
      if (host.status === 'fulfilled') await host.value?.close()
    }
    throw error
  }
}
