/**
 * Every setting, once. Flags, environment variables, keys of the JSON file, `understudy config`, error messages
 * and the table in docs/settings.md derive from these rows.
 */
import { resolve } from 'node:path'
import type { ExecutionProvider } from '../model/index.js'
import type { LogLevel, Settings } from '../server/index.js'
import { packageDirectory } from './package-info.js'
import { integer, listOf, oneOf, path, text, weights, type SettingKind } from './setting-kinds.js'

/** What can be set: the server's settings, and the file from which keys are read. */
export interface Inputs extends Settings {
  readonly apiKeysFile?: string
}
export type SettingName = keyof Inputs

export interface SettingRow<Value> {
  /** Kebab-case. `tls-cert` is the flag `--tls-cert`, the variable UNDERSTUDY_TLS_CERT and the key `tlsCert`. */
  readonly word: string
  readonly kind: SettingKind<Value>
  /** The default; `directory` is the working directory. */
  readonly fallback: (directory: string) => Value | undefined
  /** The default in words, where its value differs from machine to machine or there is none. */
  readonly fallbackWords?: string
  readonly description: string
  /** A server that runs leaves a change of it until it is started anew, as `src/server/reload.ts` has it. */
  readonly needsRestart?: true
  /** A secret has no flag, since anyone on the machine can list those, and is never printed. */
  readonly secret?: true
}

const logLevels = [
  'silent',
  'fatal',
  'error',
  'warn',
  'info',
  'debug',
  'trace',
] as const satisfies readonly LogLevel[]

/** Visible ASCII, since the key is the whole value of a header; no comma, since commas separate keys. */
export const apiKeyForm = /^[\x21-\x2b\x2d-\x7e]{8,256}$/
export const apiKeyRule = '8 to 256 visible ASCII characters without white space or commas'

/** All that a manifest may list, and no other: the compiler sees to it. */
const providers = Object.keys({
  cpu: true,
  cuda: true,
  tensorrt: true,
  coreml: true,
  dml: true,
  webgpu: true,
  qnn: true,
  openvino: true,
} satisfies Record<ExecutionProvider, true>)

const mebibyte = 1024 * 1024
// A cycle as gzip of 17 MiB and its 16 MiB unpacked must fit.
const bodiesBytesMin = 40 * mebibyte
// An image of 5 MiB must fit, or no upload could ever be taken.
const imagesWaitingBytesMin = 8 * mebibyte

export const settingsTable: { readonly [Name in SettingName]-?: SettingRow<Inputs[Name]> } = {
  host: {
    word: 'host',
    kind: text('a host name or an IP address', /^[A-Za-z0-9._:-]{1,255}$/),
    fallback: () => '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` for all of IPv4.',
    needsRestart: true,
  },
  port: {
    word: 'port',
    kind: integer(0, 65_535),
    fallback: () => 8080,
    description: 'Port to listen on; 0 takes a free one.',
    needsRestart: true,
  },
  dataDir: {
    word: 'data-dir',
    kind: path,
    fallback: (directory) => resolve(directory, 'data'),
    fallbackWords: './data',
    description: 'Directory of everything durable.',
    needsRestart: true,
  },
  modelsDir: {
    word: 'models-dir',
    kind: path,
    fallback: () => resolve(packageDirectory, 'models'),
    fallbackWords: '`models` beside the program',
    description: 'Directory of the model packages.',
    needsRestart: true,
  },
  apiKeys: {
    word: 'api-keys',
    kind: listOf(`keys, each of ${apiKeyRule}`, apiKeyForm),
    fallback: () => [],
    fallbackWords: 'one is made at the first start',
    description: 'Keys that clients may use; in the file a JSON array.',
    secret: true,
  },
  apiKeysFile: {
    word: 'api-keys-file',
    kind: path,
    fallback: () => undefined,
    fallbackWords: 'none',
    description: 'File with further keys, one a line or separated by commas.',
  },
  tlsCertFile: {
    word: 'tls-cert',
    kind: path,
    fallback: () => undefined,
    fallbackWords: 'none',
    description: 'PEM file with the certificate and its chain; without it plain HTTP.',
  },
  tlsKeyFile: {
    word: 'tls-key',
    kind: path,
    fallback: () => undefined,
    fallbackWords: 'none',
    description: 'PEM file with the private key.',
  },
  clockSkewMs: {
    word: 'clock-skew-ms',
    kind: integer(0, 300_000),
    fallback: () => 2000,
    description: 'How far in the future a `cycle_time` may be.',
  },
  cyclesWaitingMax: {
    word: 'cycles-waiting-max',
    kind: integer(1, 64),
    fallback: () => 4,
    description: 'Cycles that wait for their turn; one more is answered 503.',
  },
  connectionsMax: {
    word: 'connections-max',
    kind: integer(16, 1_000_000),
    fallback: () => 2048,
    description: 'Connections open at a time; one more is closed at once.',
  },
  connectionsPerAddressMax: {
    word: 'connections-per-address-max',
    kind: integer(1, 1_000_000),
    fallback: () => 256,
    description:
      'Connections of one address, of IPv6 a /64, that may be open; on Linux only, and not for connections from this machine, where a proxy has its place.',
  },
  trustedProxyCount: {
    word: 'trusted-proxy-count',
    kind: integer(0, 16),
    fallback: () => 0,
    description:
      'Reverse proxies in front whose entries in `X-Forwarded-For` are believed, to tell who guesses keys; 0: the header is ignored.',
  },
  wrongKeysPerMinuteMax: {
    word: 'wrong-keys-per-minute-max',
    kind: integer(1, 1_000_000),
    fallback: () => 600,
    description: 'Wrong keys of one client, of IPv6 a /64, in a minute that are answered at once.',
  },
  wrongKeyDelayMs: {
    word: 'wrong-key-delay-ms',
    kind: integer(0, 60_000),
    fallback: () => 2000,
    description: 'What later wrong keys wait for their 401; a right key never waits.',
  },
  bodyReadMsMax: {
    word: 'body-read-ms-max',
    kind: integer(100, 3_600_000),
    fallback: () => 60_000,
    description: 'Time for the whole body of a request to arrive.',
  },
  shutdownMsMax: {
    word: 'shutdown-ms-max',
    kind: integer(100, 600_000),
    fallback: () => 4500,
    description: 'Time from SIGTERM to the end of the process.',
  },
  executionProviders: {
    word: 'execution-providers',
    kind: listOf(`words out of ${providers.join(', ')}`, new RegExp(`^(${providers.join('|')})$`)),
    fallback: () => ['cpu'],
    description: 'Execution providers of ONNX Runtime in order of preference; in the file a JSON array.',
    needsRestart: true,
  },
  intraOpThreads: {
    word: 'intra-op-threads',
    kind: integer(1, 256),
    fallback: () => undefined,
    fallbackWords: 'as the manifest says, else 2, or 1 on a single core',
    description: 'Threads that one run of the model may use.',
    needsRestart: true,
  },
  priorityLead: {
    word: 'priority-lead',
    kind: integer(0, 39),
    fallback: () => 5,
    description:
      'Steps of nice by which the event loop and the processes of models go ahead of other programs of their session, where the system allows it: to root, or by RLIMIT_NICE. Linux only.',
    needsRestart: true,
  },
  predictMsMax: {
    word: 'predict-ms-max',
    kind: integer(100, 600_000),
    fallback: () => 30_000,
    description: 'Time for one run of the model.',
    needsRestart: true,
  },
  modelProcessBytesMax: {
    word: 'model-process-bytes-max',
    kind: integer(256 * mebibyte, 1024 * 1024 * mebibyte),
    fallback: () => 4096 * mebibyte,
    description: 'Resident memory of one process of a model; past it the process is replaced. Linux only.',
    needsRestart: true,
  },
  textEncodeMsMax: {
    word: 'text-encode-ms-max',
    kind: integer(1, 600_000),
    fallback: () => 2000,
    description: 'Time for encoding the texts that enter with one cycle; past it they are scored without.',
    needsRestart: true,
  },
  bodiesBytesMax: {
    word: 'bodies-bytes-max',
    kind: integer(bodiesBytesMin, 64 * 1024 * mebibyte),
    fallback: () => 256 * mebibyte,
    description:
      'Bytes of request bodies held at a time, plain and unpacked; a body past them is answered 503.',
  },
  imagesWaitingBytesMax: {
    word: 'images-waiting-bytes-max',
    kind: integer(imagesWaitingBytesMin, 64 * 1024 * mebibyte),
    fallback: () => 256 * mebibyte,
    description: 'Bytes of uploaded images that wait to be decoded; an upload past them is answered 503.',
  },
  imageConcurrency: {
    word: 'image-concurrency',
    kind: integer(1, 64),
    fallback: () => 2,
    description: 'Images decoded at a time.',
  },
  retainCyclesDays: {
    word: 'retain-cycles-days',
    kind: integer(0, 36_500),
    fallback: () => 14,
    description:
      'Days that a cycle, its request and its answer are kept; 0: for ever, and less than 8 counts as 8. What a pending post needs stays.',
  },
  retainImagesDays: {
    word: 'retain-images-days',
    kind: integer(0, 36_500),
    fallback: () => 7,
    description:
      'Days that an image is kept after its arrival; 0: for ever. Images of posts that are pending, or have left in the last 7 days, stay.',
  },
  retainOutcomesDays: {
    word: 'retain-outcomes-days',
    kind: integer(0, 36_500),
    fallback: () => 90,
    description:
      'Days that an outcome is kept after its placement, or after it last came if that is later; 0: for ever.',
  },
  logLevel: {
    word: 'log-level',
    kind: oneOf(logLevels),
    fallback: () => 'info',
    description: 'Least level that is logged.',
  },
  codec: {
    word: 'codec',
    kind: oneOf(['auto', 'native', 'reference'] as const),
    fallback: () => 'auto',
    description: 'Decoder and encoder of cycles; `auto` takes the native one where it loads.',
    needsRestart: true,
  },
  stageReport: {
    word: 'stage-report',
    kind: path,
    fallback: () => undefined,
    fallbackWords: 'none',
    description: 'File for the timings of all cycles by stage, written at the end; for benchmarks.',
    needsRestart: true,
  },
  initialWeights: {
    word: 'initial-weights',
    kind: weights,
    fallback: () => ({
      version: 'initial',
      weights: { views: 0.4, comments: 0.3, up: 0.3, downvote_share: 0 },
    }),
    fallbackWords: 'views 0.4, comments 0.3, up 0.3, downvote_share 0',
    description: 'Weights until others are put; JSON as in `PUT /v1/weights`.',
    needsRestart: true,
  },
}

export const settingNames = Object.keys(settingsTable) as SettingName[]

/** Variables that are no settings of the server. */
export const otherVariables: readonly { readonly name: string; readonly description: string }[] = [
  { name: 'UNDERSTUDY_CONFIG', description: 'JSON file with settings, as `--config`.' },
  { name: 'UNDERSTUDY_DEBUG', description: 'Any value: failures show their stack.' },
]

/** The environment variable of a setting. */
export function variableOf(name: SettingName): string {
  return `UNDERSTUDY_${settingsTable[name].word.toUpperCase().replaceAll('-', '_')}`
}

/** The key of a setting in the JSON file; commander names a flag's value the same way. */
export function fileKeyOf(name: SettingName): string {
  return settingsTable[name].word.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** The flag of a setting, or null where it has none. */
export function flagOf(name: SettingName): string | null {
  return settingsTable[name].secret === true ? null : `--${settingsTable[name].word}`
}

/** What it is, for whoever sets it for a server. */
export function serverWordsOf(name: SettingName): string {
  const { description, needsRestart } = settingsTable[name]
  return needsRestart === true ? `${description} A change needs a restart.` : description
}

/** The default as README and help show it. */
export function fallbackWordsOf(name: SettingName): string {
  const row = settingsTable[name]
  if (row.fallbackWords !== undefined) return row.fallbackWords
  return inWords(row.fallback(''))
}

/** A value as it would stand in a variable; null and undefined are `none`. */
export function inWords(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  if (Array.isArray(value)) return value.join(',')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
