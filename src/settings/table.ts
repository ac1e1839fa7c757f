/**
 * All settings, one table. Flags, environment variables, keys of the JSON file, the type `Settings`, `understudy config`,
 * error messages and the table in docs/settings.md derive from these rows.
 */
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gibibyte, hourMs, mebibyte } from '../base/index.js'
import { pendingPostsMax } from '../contract/index.js'
import { mostlyOnCpuModes, type ExecutionProvider } from '../model/index.js'
import {
  integer,
  listOf,
  oneOf,
  path,
  portOrOff,
  postgresAddress,
  text,
  weights,
  type SettingKind,
} from './kinds.js'

interface SettingRow {
  /** The key in the JSON file, if it differs from the name. Flag and variable derive from it. */
  readonly key?: string
  /** Heading on the help page, in the first row of a group. */
  readonly group?: string
  readonly kind: SettingKind<unknown>
  /** The default; `directory` is the working directory. A setting without one may be absent. */
  readonly defaultValue?: (directory: string) => unknown
  /** The default in words, if its value does not describe it. */
  readonly defaultText?: string
  readonly description: string
  /** Changes that need a restart: all, or only setting and removing the value. SIGHUP applies the others. */
  readonly needsRestart?: 'change' | 'set or unset'
  /** A secret has no flag, since every user of the machine can list flags, and it is never printed. */
  readonly secret?: true
}

/** Visible ASCII, since the key is the whole value of a header; no comma, since commas separate keys. */
export const apiKeyCharsMax = 256
export const apiKeyPattern = new RegExp(`^[\\x21-\\x2b\\x2d-\\x7e]{16,${apiKeyCharsMax}}$`)
export const apiKeyRule = `16 to ${apiKeyCharsMax} visible ASCII characters without white space or commas`

/** The execution providers that a manifest may list; the compiler checks that the list is complete. */
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

const hostKind = text('a host name or an IP address', /^[A-Za-z0-9._:-]{1,255}$/)

// One cycle must fit: 17 MiB of gzip and its 16 MiB decompressed.
const bodiesBytesMin = 40 * mebibyte

const rows = {
  dataDir: {
    group: 'Directories',
    kind: path,
    defaultValue: (directory) => resolve(directory, 'data'),
    defaultText: './data',
    description: 'Directory of all stored data.',
    needsRestart: 'change',
  },
  modelsDir: {
    kind: path,
    defaultValue: () => fileURLToPath(new URL('../../models', import.meta.url)),
    defaultText: '`models` in the directory of the program',
    description: 'Directory of the model packages.',
    needsRestart: 'change',
  },
  journal: {
    group: 'High availability',
    kind: postgresAddress,
    description:
      'PostgreSQL database that holds the data, of which the data directory is then a view: `postgres://user@host1,host2/database`.',
    needsRestart: 'change',
    secret: true,
  },
  environment: {
    kind: text('1 to 40 letters, digits, dots, hyphens or underscores', /^[A-Za-z0-9._-]{1,40}$/),
    description: 'Name of the environment in the journal, the same for all its processes.',
    needsRestart: 'change',
  },
  host: {
    group: 'Address, keys and TLS',
    kind: hostKind,
    defaultValue: () => '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` listens on all IPv4 addresses.',
    needsRestart: 'change',
  },
  port: {
    kind: integer(0, 65_535),
    defaultValue: () => 8080,
    description: 'Port to listen on; 0 selects a free port.',
    needsRestart: 'change',
  },
  apiKeys: {
    kind: listOf(`keys, each of ${apiKeyRule}`, apiKeyPattern),
    defaultValue: () => [],
    defaultText: 'generated at the first start',
    description: 'Accepted API keys; a JSON array in the settings file.',
    secret: true,
  },
  apiKeysFile: {
    kind: path,
    description: 'File with more API keys, one per line or separated by commas.',
  },
  tlsCertFile: {
    key: 'tlsCert',
    kind: path,
    description: 'PEM file with the certificate and its chain. Without it, the server uses plain HTTP.',
    needsRestart: 'set or unset',
  },
  tlsKeyFile: {
    key: 'tlsKey',
    kind: path,
    description: 'PEM file with the private key of the certificate.',
    needsRestart: 'set or unset',
  },
  adminHost: {
    group: 'Admin listener',
    kind: hostKind,
    defaultValue: () => '127.0.0.1',
    description: "Address of the admin listener: health checks, metrics and the data of the operators' page.",
    needsRestart: 'change',
  },
  adminPort: {
    kind: portOrOff,
    defaultValue: () => 8081,
    description: 'Port of the admin listener; 0 selects a free port, `off` starts none.',
    needsRestart: 'change',
  },
  clockSkewMs: {
    group: 'Limits',
    kind: integer(0, 300_000),
    defaultValue: () => 2000,
    description: 'How far in the future a `cycle_time` may be.',
  },
  cyclesWaitingMax: {
    kind: integer(1, 64),
    defaultValue: () => 4,
    description: 'Cycles that may wait behind the one being processed.',
  },
  pendingPostsMax: {
    kind: integer(1000, 2_000_000),
    defaultValue: () => pendingPostsMax,
    description: 'Posts that may be pending.',
  },
  connectionsMax: {
    kind: integer(16, 1_000_000),
    defaultValue: () => 2048,
    description: 'Open connections.',
  },
  bodyReadMsMax: {
    kind: integer(100, hourMs),
    defaultValue: () => 60_000,
    description: 'Time for the whole body of a request to arrive.',
  },
  bodiesBytesMax: {
    kind: integer(bodiesBytesMin, 64 * gibibyte),
    defaultValue: () => 256 * mebibyte,
    description:
      'Memory for the bodies of requests, compressed and decompressed, and of responses. Images that wait may take half of it.',
  },
  shutdownMsMax: {
    kind: integer(100, 600_000),
    defaultValue: () => 4500,
    description: 'Time from SIGTERM to the end of the process.',
  },
  executionProviders: {
    group: 'Models',
    kind: listOf(`one or more of ${providers.join(', ')}`, new RegExp(`^(${providers.join('|')})$`)),
    defaultValue: () => ['cpu'],
    description:
      'Execution providers of ONNX Runtime in order of preference; a JSON array in the settings file.',
    needsRestart: 'change',
  },
  mostlyOnCpu: {
    kind: oneOf(mostlyOnCpuModes),
    defaultValue: () => 'refuse',
    description:
      'If another provider than `cpu` leaves nodes to the CPU that take more than half of a run: `refuse` tries the next provider, `warn` serves with a warning.',
    needsRestart: 'change',
  },
  intraOpThreads: {
    kind: integer(1, 256),
    defaultText: 'from the manifest, else 2, or 1 on a single core',
    description: 'Threads of one run of the model.',
    needsRestart: 'change',
  },
  predictMsMax: {
    kind: integer(100, 600_000),
    defaultValue: () => 30_000,
    description: 'Time limit of one run of the model.',
    needsRestart: 'change',
  },
  modelLatencyMsMax: {
    kind: integer(1, 600_000),
    defaultValue: () => 1000,
    description: 'Median time that a model may take for 5000 rows. A slower version fails verification.',
    needsRestart: 'change',
  },
  modelProcessBytesMax: {
    kind: integer(256 * mebibyte, 1024 * gibibyte),
    defaultValue: () => 4 * gibibyte,
    description: 'Resident memory of one model process. A process that exceeds it is replaced. Linux only.',
    needsRestart: 'change',
  },
  fallbackAfterFailures: {
    kind: integer(0, 1000),
    defaultValue: () => 3,
    description:
      'Consecutive failed cycles after which the version that served before takes over, until a version is activated. 0: never.',
  },
  textEncodeMsMax: {
    kind: integer(1, 600_000),
    defaultValue: () => 2000,
    description:
      'Time for encoding the texts that enter with one cycle; then posts are scored without embeddings.',
    needsRestart: 'change',
  },
  initialWeights: {
    kind: weights,
    defaultValue: () => ({
      version: 'initial',
      weights: { views: 0.4, comments: 0.3, up: 0.3, downvote_share: 0 },
    }),
    defaultText: 'views 0.4, comments 0.3, up 0.3, downvote_share 0',
    description: 'Weights until the first `PUT /v1/weights`, in the same JSON.',
    needsRestart: 'change',
  },
  retainCyclesDays: {
    group: 'Expiry',
    kind: integer(0, 36_500),
    defaultValue: () => 14,
    description: 'Days that requests and responses of cycles are kept, at least 8; 0: forever.',
  },
  retainImagesDays: {
    kind: integer(0, 36_500),
    defaultValue: () => 7,
    description: 'Days that images are kept; 0: forever.',
  },
  retainOutcomesDays: {
    kind: integer(0, 36_500),
    defaultValue: () => 90,
    description: 'Days that outcomes and records of cycles are kept; 0: forever.',
  },
  logLevel: {
    group: 'Log',
    kind: oneOf(['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace']),
    defaultValue: () => 'info',
    description: 'Lowest level that is logged.',
  },
} satisfies Record<string, SettingRow>

export type SettingName = keyof typeof rows
type ValueOf<Name extends SettingName> =
  (typeof rows)[Name]['kind'] extends SettingKind<infer Value> ? Value : never
type NameWithDefault = {
  [Name in SettingName]: (typeof rows)[Name] extends { defaultValue: unknown } ? Name : never
}[SettingName]

/** A complete set of validated values. */
export type Inputs = { readonly [Name in NameWithDefault]: ValueOf<Name> } & {
  readonly [Name in Exclude<SettingName, NameWithDefault>]?: ValueOf<Name>
}

/** The settings of a server: `apiKeys` also has the keys of the file. */
export type Settings = Omit<Inputs, 'apiKeysFile'>

export const settingsTable: Readonly<Record<SettingName, SettingRow>> = rows
export const settingNames = Object.keys(rows) as SettingName[]

/**
 * Keys of the settings file that the version before had, with the setting that each one is now. A key, its flag and its variable are
 * accepted for one version, with a warning.
 */
export const renamedKeys: Readonly<Record<string, SettingName>> = {}

/** What a setting is called in the file, as a flag (null for a secret) and in the environment. */
export interface SettingNames {
  readonly key: string
  readonly flag: string | null
  readonly variable: string
}

/** The names of a setting: those of this version, then those of the version before, if they were others. */
export function namesOf(name: SettingName): readonly [SettingNames, ...SettingNames[]] {
  const earlier = Object.keys(renamedKeys).filter((key) => renamedKeys[key] === name)
  const { key: current = name, secret } = settingsTable[name]
  const of = (key: string): SettingNames => {
    const words = key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(' ')
    const flag = secret === true ? null : `--${words.join('-')}`
    return { key, flag, variable: `UNDERSTUDY_${words.join('_').toUpperCase()}` }
  }
  return [of(current), ...earlier.map(of)]
}

/** A secret that is not a setting of the file, so that only the environment and a file of the data directory hold it. */
export const adminTokenVariable = 'UNDERSTUDY_ADMIN_TOKEN'

/** Environment variables that are not settings. */
export const otherVariables: readonly { readonly name: string; readonly description: string }[] = [
  {
    name: adminTokenVariable,
    description: `Token of the admin listener: ${apiKeyRule}. Default: generated, in the file \`admin-token\` of the data directory.`,
  },
  { name: 'UNDERSTUDY_CONFIG', description: 'JSON file with settings; the same as `--config`.' },
  { name: 'UNDERSTUDY_DEBUG', description: 'With any value, errors are printed with their stack.' },
]

/** The environment variable of a setting. */
export function variableOf(name: SettingName): string {
  return namesOf(name)[0].variable
}

/** The key of a setting in the JSON file; commander names a flag's value the same way. */
export function fileKeyOf(name: SettingName): string {
  return namesOf(name)[0].key
}

/** The flag of a setting; null for a secret. */
export function flagOf(name: SettingName): string | null {
  return namesOf(name)[0].flag
}

/** Whether a running server can apply a change from `now` to `requested` only by a restart. */
export function needsRestart(name: SettingName, now: unknown, requested: unknown): boolean {
  const rule = settingsTable[name].needsRestart
  return rule === 'set or unset' ? (now === undefined) !== (requested === undefined) : rule === 'change'
}

/** The description, with a note if a change needs a restart. */
export function helpTextOf(name: SettingName): string {
  const { description, needsRestart: rule } = settingsTable[name]
  if (rule === undefined) return description
  return `${description} ${rule === 'change' ? 'A change' : 'Setting or removing it'} needs a restart.`
}

/** The default as the documentation and the help show it. */
export function defaultTextOf(name: SettingName): string {
  const { defaultValue, defaultText } = settingsTable[name]
  return defaultText ?? valueText(defaultValue?.(''))
}

/** A value in the form of an environment variable; null and undefined are `none`. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  if (Array.isArray(value)) return value.join(',')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
