/**
 * Settings as people and programs read them: a table for the terminal, JSON, and the table in docs/settings.md.
 * Secrets are shown by count and fingerprint.
 */
import { fingerprintOf } from './api-keys.js'
import type { EffectiveSettings } from './read-settings.js'
import {
  defaultTextOf,
  fileKeyOf,
  valueText,
  otherVariables,
  path,
  settingNames,
  settingsTable,
  variableOf,
  type SettingName,
} from '../settings/index.js'
import { formatTable } from './text-table.js'

export interface SettingReport {
  readonly value: unknown
  readonly origin: string
}

/** Every setting with its value and origin, by its key in the JSON file. API keys are shown as fingerprints. */
export function reportSettings(effective: EffectiveSettings): Record<string, SettingReport> {
  return Object.fromEntries(
    settingNames.map((name) => [
      fileKeyOf(name),
      { value: shownValue(effective, name), origin: effective.origins.get(name) ?? 'default' },
    ]),
  )
}

/** The report as a table for a terminal of `columns` cells; long values are wrapped. */
export function settingsAsText(report: Readonly<Record<string, SettingReport>>, columns?: number): string {
  const rows = settingNames.flatMap((name) => {
    const entry = report[fileKeyOf(name)]
    return entry === undefined ? [] : [[fileKeyOf(name), valueInWords(name, entry.value), entry.origin]]
  })
  return formatTable(['setting', 'value', 'from'], rows, { cellsMax: columns, column: 1 })
}

/** The lists of docs/settings.md: settings by group, and other variables. */
export function settingsAsMarkdown(): string {
  const settings = settingNames.flatMap((name) => {
    const { group } = settingsTable[name]
    const names = `\`${fileKeyOf(name)}\`, \`${variableOf(name)}\``
    const heading = group === undefined ? [] : ['', `### ${group}`, '']
    return [...heading, `- ${names} (${defaultTextOf(name)}): ${descriptionOf(name)}`]
  })
  const others = otherVariables.map(({ name, description }) => `- \`${name}\`: ${description}`)
  return [...settings.slice(1), '', '### Other variables', '', ...others, ''].join('\n')
}

function shownValue({ settings, apiKeysFile }: EffectiveSettings, name: SettingName): unknown {
  if (name === 'apiKeysFile') return apiKeysFile
  // An address may have a password in several places.
  if (name === 'journal') return settings.journal === undefined ? null : 'postgres://…'
  if (name !== 'apiKeys') return settings[name] ?? null
  return { count: settings.apiKeys.length, sha256: settings.apiKeys.map(fingerprintOf) }
}

function valueInWords(name: SettingName, value: unknown): string {
  if (name !== 'apiKeys') return value === null ? defaultTextOf(name) : valueText(value)
  const { sha256 } = value as { sha256: readonly string[] }
  if (sha256.length === 0) return 'none: serve generates one'
  return `${sha256.length} with SHA-256 ${sha256.map((hash) => `${hash}…`).join(', ')}`
}

function descriptionOf(name: SettingName): string {
  const { kind, description, needsRestart } = settingsTable[name]
  const rule = kind.range === undefined ? ` Must be ${kind.rule}.` : ` ${kind.range}.`
  const restart = needsRestart === 'change' ? ' **Restart.**' : ' **Restart** to set or remove it.'
  return `${description}${kind === path ? '' : rule}${needsRestart === undefined ? '' : restart}`
}
