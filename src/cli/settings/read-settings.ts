/**
 * Reads the effective settings: flags, then environment variables, then the JSON file, then defaults. Each value is checked
 * by its row of the settings table. An error is one line that names the setting, its origin and the rule.
 */
import { readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { isObject } from '../../base/index.js'
import type { Settings } from '../../settings/index.js'
import { readKeysFile } from './api-keys.js'
import { encodingProblem, messageLine, UsageError } from '../failure.js'
import { tlsProblem } from './tls-files.js'
import {
  isLoopback,
  fileKeyOf,
  namesOf,
  otherVariables,
  settingNames,
  settingsTable,
  type Inputs,
  type SettingName,
} from '../../settings/index.js'

/** Values of flags as commander passes them: camelCase names. `config` is the JSON file. */
export type Flags = Readonly<Record<string, unknown>>

export interface SettingsSources {
  readonly flags: Flags
  readonly env: NodeJS.ProcessEnv
  /** Working directory, to which paths in flags and variables are relative. */
  readonly directory: string
}

export interface EffectiveSettings {
  /** Frozen. `apiKeys` is empty if no key is configured. */
  readonly settings: Settings
  /** The file with some of `apiKeys`, or null. */
  readonly apiKeysFile: string | null
  /** The source of each value: a flag, a variable, `file:key`, a key file, or `default`. */
  readonly origins: ReadonlyMap<SettingName, string>
  /** Warnings about settings that work but are not secure, one line each. */
  readonly warnings: readonly string[]
}

interface ConfigFile {
  readonly path: string
  readonly members: Readonly<Record<string, unknown>>
}

interface Origin {
  readonly label: string
  /** The key of this version, or an earlier one. */
  readonly key: string
  readonly value: unknown
  readonly isText: boolean
  readonly directory: string
}

/** The settings of a command. Throws as `readSettings` does. */
export function settingsOf(flags: Flags, { env, directory }: Omit<SettingsSources, 'flags'>): Settings {
  return readSettings({ flags, env, directory }).settings
}

/** Throws a `UsageError` for the first value that breaks its rule, and for unknown names. */
export function readSettings(sources: SettingsSources): EffectiveSettings {
  checkVariables(sources.env)
  const file = readConfigFile(sources)
  const origins = new Map<SettingName, string>()
  const renamed: string[] = []
  const entries = settingNames.map((name): [SettingName, unknown] => {
    const origin = findOrigin(name, sources, file)
    if (origin !== null && origin.key !== fileKeyOf(name)) renamed.push(renamedWarning(name, origin))
    origins.set(name, origin?.label ?? 'default')
    const value =
      origin === null ? settingsTable[name].defaultValue?.(sources.directory) : readValue(name, origin)
    return [name, value]
  })
  // Each row's kind gives the type of its own setting; a loop over rows loses that.
  const { apiKeysFile, ...settings } = Object.fromEntries(
    entries.filter(([, value]) => value !== undefined),
  ) as unknown as Inputs
  checkTls(settings, origins)
  const apiKeys = [...settings.apiKeys]
  if (apiKeysFile !== undefined) {
    const label = `${fileKeyOf('apiKeysFile')} (from ${origins.get('apiKeysFile')})`
    apiKeys.push(...readKeysFile(apiKeysFile, `${label}: ${apiKeysFile}`))
    const others = settings.apiKeys.length === 0 ? [] : [origins.get('apiKeys')]
    origins.set('apiKeys', [...others, apiKeysFile].join(', '))
  }
  return {
    settings: Object.freeze({ ...settings, apiKeys: Object.freeze([...new Set(apiKeys)]) }),
    apiKeysFile: apiKeysFile ?? null,
    origins,
    warnings: [...renamed, ...warningsOf(apiKeysFile, file, settings)],
  }
}

/** Throws a `UsageError` for an unknown variable with the prefix of the settings. */
export function checkVariables(env: NodeJS.ProcessEnv): void {
  const known = new Set([
    ...settingNames.flatMap((name) => namesOf(name).map(({ variable }) => variable)),
    ...otherVariables.map(({ name }) => name),
  ])
  for (const name of Object.keys(env)) {
    if (name.startsWith('UNDERSTUDY_') && !known.has(name)) {
      throw new UsageError(`unknown variable ${name}; docs/settings.md lists the known ones`)
    }
  }
}

function readConfigFile({ flags, env, directory }: SettingsSources): ConfigFile | null {
  const given = typeof flags['config'] === 'string' ? flags['config'] : env['UNDERSTUDY_CONFIG']
  if (!given) return null
  const path = resolve(directory, given)
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    throw new UsageError(`cannot read the settings file: ${messageLine(error)}`)
  }
  const encoding = encodingProblem(bytes)
  if (encoding !== null) throw new UsageError(`the settings file ${path} ${encoding}`)
  let members: unknown
  try {
    members = JSON.parse(bytes.toString())
  } catch (error) {
    const position = error instanceof SyntaxError ? positionIn(error) : ''
    throw new UsageError(`the settings file ${path} is not valid JSON${position}`)
  }
  if (!isObject(members)) throw new UsageError(`the settings file ${path} must contain a JSON object`)
  const known = new Set(settingNames.flatMap((name) => namesOf(name).map(({ key }) => key)))
  for (const key of Object.keys(members)) {
    if (!known.has(key)) throw new UsageError(`unknown setting ${JSON.stringify(key)} in ${path}`)
  }
  return { path, members }
}

/** The position in the message of the JSON parser, if any. The rest of the message may quote a key. */
function positionIn({ message }: SyntaxError): string {
  const position = /\(line \d+ column \d+\)/.exec(message)
  return position === null ? '' : ` ${position[0]}`
}

function findOrigin(name: SettingName, sources: SettingsSources, file: ConfigFile | null): Origin | null {
  const { flags, env, directory } = sources
  const names = namesOf(name)
  const given = names.flatMap(({ key, flag }): Origin[] =>
    flag !== null && typeof flags[key] === 'string'
      ? [{ label: flag, key, value: flags[key], isText: true, directory }]
      : [],
  )
  const variables = names.flatMap(({ key, variable: label }): Origin[] =>
    // Containers and unit files unset a variable by giving it an empty value.
    env[label] ? [{ label, key, value: env[label], isText: true, directory }] : [],
  )
  const { path = '', members = {} } = file ?? {}
  const values = names.flatMap(({ key }): Origin[] =>
    Object.hasOwn(members, key)
      ? [{ label: `${path}:${key}`, key, value: members[key], isText: false, directory: dirname(path) }]
      : [],
  )
  return onlyOf(given) ?? onlyOf(variables) ?? onlyOf(values)
}

/** The one value of a source. Throws a `UsageError` for two, under the new name and the old one. */
function onlyOf([origin, second]: readonly Origin[]): Origin | null {
  if (origin !== undefined && second !== undefined)
    throw new UsageError(`${second.label} is the old name of ${origin.label}: give only the new one`)
  return origin ?? null
}

function renamedWarning(name: SettingName, { label }: Origin): string {
  return `${label}: this setting is called ${fileKeyOf(name)} now; the next version refuses the old name`
}

function readValue(name: SettingName, { label, value, isText, directory }: Origin): unknown {
  const { kind, secret } = settingsTable[name]
  const read = isText ? kind.fromText(String(value), directory) : kind.fromJson(value, directory)
  if (read !== undefined) return read
  const shown = secret === true ? '' : `, not ${JSON.stringify(value)}`
  const rule = isText ? kind.rule : (kind.ruleInFile ?? kind.rule)
  const problem = typeof value === 'string' ? (kind.problemOf?.(value) ?? null) : null
  const detail = problem === null ? shown : `: ${problem}`
  throw new UsageError(`${fileKeyOf(name)} (from ${label}) must be ${rule}${detail}`)
}

function checkTls(settings: Settings, origins: ReadonlyMap<SettingName, string>): void {
  const { tlsCertFile, tlsKeyFile } = settings
  if (tlsCertFile === undefined && tlsKeyFile === undefined) return
  if (tlsCertFile === undefined)
    throw new UsageError(`tlsKey (from ${origins.get('tlsKeyFile')}) needs tlsCert: TLS needs both files`)
  if (tlsKeyFile === undefined)
    throw new UsageError(`tlsCert (from ${origins.get('tlsCertFile')}) needs tlsKey: TLS needs both files`)
  const problem = tlsProblem(tlsCertFile, tlsKeyFile)
  if (problem !== null)
    throw new UsageError(
      `tlsCert (from ${origins.get('tlsCertFile')}) and tlsKey (from ${origins.get('tlsKeyFile')}) must be ` +
        `readable PEM files of one key pair: ${problem}`,
    )
}

function warningsOf(apiKeysFile: string | undefined, file: ConfigFile | null, settings: Settings): string[] {
  const secretPaths = [
    settings.dataDir,
    join(settings.dataDir, 'api-key'),
    join(settings.dataDir, 'admin-token'),
    apiKeysFile,
    file !== null && Object.hasOwn(file.members, fileKeyOf('apiKeys')) ? file.path : undefined,
    settings.tlsKeyFile,
  ]
  const warnings = secretPaths
    .filter((path) => path !== undefined && isWorldAccessible(path))
    .map((path) => `${path} contains secrets and is open to all users of this machine; run: chmod o= ${path}`)
  const { host, tlsCertFile } = settings
  if (tlsCertFile === undefined && !isLoopback(host)) {
    warnings.push(
      `plain HTTP on ${host} sends API keys unencrypted; set tlsCert and tlsKey, or listen on 127.0.0.1 behind a ` +
        'TLS proxy (deploy/nginx.conf)',
    )
  }
  return warnings
}

/**
 * False if the path does not exist or cannot be examined. Permissions of the group are accepted: secret stores provide
 * files with mode 0640 or 0440, and an operator may grant a backup access to the data directory.
 */
function isWorldAccessible(path: string): boolean {
  try {
    return (statSync(path).mode & 0o007) !== 0
  } catch {
    return false
  }
}
