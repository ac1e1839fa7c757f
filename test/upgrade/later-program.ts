/**
 * A program of the next schema version, made of this one: a copy of `dist` in which a database has another name and another number,
 * records of outcomes are four bytes longer, and the setting `verbosity` is called `logLevel`. What it does with a directory or a journal of this version is what each later program will do.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { databaseTable, schemaVersion } from '../../src/store/records/index.js'
import { buildOnce } from '../helpers/build-once.js'
import { projectDir } from '../helpers/project.js'

export const laterVersion = schemaVersion + 1

/** The layout that the later program upgrades, as its sources would have it: written out. */
const layout = Object.fromEntries(
  Object.values(databaseTable).map(({ name, keyEncoding, kindNumber }) => [
    name,
    { keyEncoding, kindNumber },
  ]),
)

/** In src/store/records/payloads.ts, an outcome begins with eight bytes. */
const upgradeSource = `[{
  change: 'outcomes have room for a number',
  layout: ${JSON.stringify(layout)},
  upgrade: (record) => {
    if (record.database === 'image_uses') return [{ ...record, database: 'image_links' }]
    if (record.database !== 'outcomes') return [record]
    const { tag, payload } = openRecord(record.value, 'outcome')
    const value = packRecord(tag, [payload.subarray(0, 8), new Uint8Array(4), payload.subarray(8)])
    return [{ ...record, value }]
  },
}]`

/** Makes the program in `directory` and returns its command. */
export function makeLaterProgram(directory: string): readonly [string, ...string[]] {
  buildOnce()
  cpSync(join(projectDir, 'dist'), join(directory, 'dist'), { recursive: true })
  cpSync(join(projectDir, 'bin'), join(directory, 'bin'), { recursive: true })
  for (const name of ['package.json', 'node_modules', 'build', 'models'])
    symlinkSync(join(projectDir, name), join(directory, name))
  replaceIn(directory, 'store/records/upgrades', 'export const schemaUpgrades = [];', [
    `import { openRecord, packRecord } from './envelope.js';`,
    `export const schemaUpgrades = ${upgradeSource};`,
  ])
  replaceIn(
    directory,
    'store/records/databases',
    `{ name: 'image_uses', keyEncoding: 'binary', kindNumber: 13 }`,
    [`{ name: 'image_links', keyEncoding: 'binary', kindNumber: 18 }`],
  )
  replaceIn(directory, 'store/records/payloads', 'numbers(id.byteLength, Math.floor(arrivedAtMs / 1000))', [
    'numbers(id.byteLength, Math.floor(arrivedAtMs / 1000), 0)',
  ])
  replaceIn(directory, 'store/records/payloads', 'const outcomeHeadBytes = 8;', [
    'const outcomeHeadBytes = 12;',
  ])
  replaceIn(directory, 'settings/table', 'export const renamedKeys = {};', [
    `export const renamedKeys = { verbosity: 'logLevel' };`,
  ])
  return [join(directory, 'bin', 'understudy')]
}

function replaceIn(directory: string, module: string, old: string, lines: readonly string[]): void {
  const file = join(directory, 'dist', `${module}.js`)
  const source = readFileSync(file, 'utf8')
  if (source.split(old).length !== 2) throw new Error(`${file} has not one line ${old}`)
  writeFileSync(file, source.replace(old, lines.join('\n')))
}
