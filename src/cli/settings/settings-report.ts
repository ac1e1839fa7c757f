/**
 * Settings as people and programs read them: a table for the terminal, and JSON.
 * Secrets are shown by count and fingerprint.
 */
import { fingerprintOf } from './api-keys.js'
import type { EffectiveSettings } from './read-settings.js'
import { defaultTextOf, fileKeyOf, valueText, settingNames, type SettingName } from '../../settings/index.js'
import { formatTable } from '../text/text-table.js'

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
