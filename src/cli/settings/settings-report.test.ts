/**
 * The report on settings, and the tables of docs/settings.md.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectDir } from '../../../test/helpers/project.js'
import { readSettings } from './read-settings.js'
import { reportSettings, settingsAsText } from './settings-report.js'
import { cellWidth } from '../text/text-table.js'
import {
  defaultTextOf,
  fileKeyOf,
  otherVariables,
  path,
  settingNames,
  settingsTable,
  variableOf,
  type SettingName,
} from '../../settings/index.js'

const key = 'a-key-that-is-not-printed'
const effective = readSettings({
  flags: {},
  env: { UNDERSTUDY_API_KEYS: `${key},another-such-key` },
  directory: '/nowhere',
})

test('a report has the count and the fingerprints of the API keys, and never a key', () => {
  const report = reportSettings(effective)
  expect(report['apiKeys']).toMatchObject({
    value: { count: 2, sha256: [expect.stringMatching(/^[0-9a-f]{12}$/), expect.any(String)] },
    origin: 'UNDERSTUDY_API_KEYS',
  })
  for (const text of [JSON.stringify(report), settingsAsText(report)]) {
    expect(text).not.toContain(key)
    expect(text).not.toContain('another-such-key')
  }
})

test('a report has no part of the address of the journal, which may contain a password', () => {
  const { settings, ...rest } = effective
  const journal = 'postgres://user:secret@one:5432,two/db?sslpassword=secret'
  expect(reportSettings({ ...rest, settings: { ...settings, journal } })['journal']?.value).toBe(
    'postgres://…',
  )
  expect(reportSettings(effective)['journal']?.value).toBeNull()
})

// More are hard to learn; a new one replaces one that nobody changes.
test('there are at most 33 settings', () => {
  expect(settingNames.length).toBeLessThanOrEqual(33)
})

test('a report has every setting', () => {
  const keys = settingNames.map(fileKeyOf)
  expect(Object.keys(reportSettings(effective))).toEqual(keys)
  for (const name of keys) expect(settingsAsText(reportSettings(effective))).toContain(`\n${name} `)
})

test('a report on a terminal fits its width without cutting values', () => {
  const report = reportSettings(effective)
  const lines = settingsAsText(report, 80).split('\n')
  for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(80)
  const weights = JSON.stringify(report['initialWeights']?.value)
  const namesWidth = Math.max(...Object.keys(report).map((name) => name.length)) + 2
  expect(lines.map((line) => line.slice(namesWidth).split('  ')[0]).join('')).toContain(weights)
})

/** The lists of docs/settings.md: settings by group, and other variables. */
function settingsAsMarkdown(): string {
  const settings = settingNames.flatMap((name) => {
    const { group } = settingsTable[name]
    const names = `\`${fileKeyOf(name)}\`, \`${variableOf(name)}\``
    const heading = group === undefined ? [] : ['', `### ${group}`, '']
    return [...heading, `- ${names} (${defaultTextOf(name)}): ${descriptionOf(name)}`]
  })
  const others = otherVariables.map(({ name, description }) => `- \`${name}\`: ${description}`)
  return [...settings.slice(1), '', '### Other variables', '', ...others, ''].join('\n')
}

function descriptionOf(name: SettingName): string {
  const { kind, description, needsRestart } = settingsTable[name]
  const rule = kind.range === undefined ? ` Must be ${kind.rule}.` : ` ${kind.range}.`
  const restart = needsRestart === 'change' ? ' **Restart.**' : ' **Restart** to set or remove it.'
  return `${description}${kind === path ? '' : rule}${needsRestart === undefined ? '' : restart}`
}

test('docs/settings.md has each setting, with its rule and default', () => {
  const page = readFileSync(join(projectDir, 'docs', 'settings.md'), 'utf8')
  const [, tables] = /<!-- settings:begin -->\n([^]*?)<!-- settings:end -->/.exec(page) ?? []
  const ignore = '<!-- prettier-ignore-start -->\n\n'
  const end = '\n<!-- prettier-ignore-end -->\n\n'
  expect(tables).toBe(`\n${ignore}${settingsAsMarkdown()}${end}`)
})
