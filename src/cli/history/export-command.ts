/**
 * `understudy export`: writes the stored cycles to Parquet files, one directory per table and KST day. `understudy sql`: runs
 * one statement over such files, or over a data directory. The server may be running.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Option, type Command } from 'commander'
import {
  exportSchemaVersion,
  exportStore,
  queryExport,
  QueryError,
  tableNames,
  tablesIn,
  viewSql,
  type ExportOptions,
  type QueryResult,
} from '../../history/index.js'
import { catalogue } from '../../model/index.js'
import { addSettingFlags, integerArgument, type CommandContext } from '../context.js'
import { keepFilesPrivate } from '../settings/data-directory.js'
import { CommandError, messageLine, UsageError } from '../failure.js'
import { withStore } from '../store/open-store.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { withScratchDirectory } from './scratch-directory.js'
import { chosenFeatures } from '../models/features.js'
import { formatTable } from '../text/text-table.js'
import { addRangeFlags, timeRangeOf } from './time-range.js'

interface SqlFlags extends Flags {
  readonly export?: string
  readonly rows: number
}

export function addExportCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('export <dir>')
    .description(
      'write the stored cycles to Parquet files, for training and analysis; the server may be running',
    )
  addRangeFlags(command)
    .option(
      '--features [names]',
      'add features to scores, separated by commas; without names, the whole catalogue',
    )
    .addOption(
      new Option(
        '--missing <how>',
        'a missing value of a feature: null, or `imputed`: as a model gets it, unless it takes NaN',
      )
        .choices(['imputed', 'null'])
        .default('null'),
    )
    .option('--texts', 'also write the bodies of the posts')
  addSettingFlags(command, ['dataDir']).action((directory: string, flags: Flags) =>
    exportTo(resolve(context.directory, directory), flags, context),
  )
}

export function addSqlCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('sql <statement>')
    .description('run one read-only SQL statement over the tables of an export, or of --data-dir')
    .option('--export <dir>', 'a directory written by `export`; much faster than --data-dir')
    .option('--rows <count>', 'maximum number of rows to print', integerArgument(1), 1000)
    .option('--json', 'print JSON: one line per row')
  addRangeFlags(command)
  addSettingFlags(command, ['dataDir']).action((statement: string, flags: SqlFlags) =>
    query(statement, flags, context),
  )
}

async function exportTo(directory: string, flags: Flags, context: CommandContext): Promise<void> {
  keepFilesPrivate()
  createEmptyDirectory(directory)
  const options = {
    directory,
    ...timeRangeOf(flags),
    ...featuresOf(flags),
    texts: flags['texts'] === true,
  }
  const startedAt = performance.now()
  const { cycles, rows, last_hash } = await writeTables(options, flags, context)
  const seconds = (performance.now() - startedAt) / 1000
  writeFileSync(
    join(directory, 'export.json'),
    `${JSON.stringify({ schema_version: exportSchemaVersion, cycles, rows, last_hash }, null, 2)}\n`,
  )
  // Paths are relative, so that a copy of the directory works: run duckdb inside it.
  const views = tableNames.map((name) => viewSql(name, directory).replaceAll(`${directory}/`, ''))
  writeFileSync(join(directory, 'views.sql'), `${views.join('\n')}\n`)
  const table = formatTable(
    ['table', 'rows'],
    Object.entries(rows).map(([name, count]) => [name, String(count)]),
  )
  const hash = last_hash === null ? '' : `Hash of cycle ${last_hash.cycle_id}: ${last_hash.hash}\n`
  context.print(`${cycles} cycles written to ${directory} in ${seconds.toFixed(1)} s\n${hash}\n${table}`)
}

async function writeTables(
  options: ExportOptions,
  flags: Flags,
  context: CommandContext,
): Promise<Awaited<ReturnType<typeof exportStore>>> {
  const settings = settingsOf(flags, context)
  return withStore(settings.dataDir, (store) =>
    exportStore(store, options).catch((cause: unknown) => {
      throw new CommandError(`the export failed: ${messageLine(cause)}`, { cause })
    }),
  )
}

/** Throws if the directory has files. */
function createEmptyDirectory(directory: string): void {
  try {
    if (existsSync(directory) && readdirSync(directory).length > 0)
      throw new CommandError(`${directory} is not empty`)
    mkdirSync(directory, { recursive: true })
  } catch (cause) {
    if (cause instanceof CommandError) throw cause
    throw new UsageError(`${directory} cannot be written: ${messageLine(cause)}`)
  }
}

function featuresOf({ features: names, missing }: Flags): Pick<ExportOptions, 'features' | 'missing'> {
  const all = names === true ? catalogue : []
  return {
    features: typeof names === 'string' ? chosenFeatures(names) : all,
    missing: missing === 'imputed' ? 'imputed' : 'nan',
  }
}

async function query(statement: string, flags: SqlFlags, context: CommandContext): Promise<void> {
  keepFilesPrivate()
  const { export: given, rows: rowsMax } = flags
  const exported = given === undefined ? null : resolve(context.directory, given)
  if (exported !== null) checkExport(exported)
  try {
    const result = await withScratchDirectory('understudy-sql-', async (scratch) => {
      const directory = exported ?? join(scratch, 'tables')
      if (exported === null) {
        mkdirSync(directory)
        const options = {
          directory,
          ...timeRangeOf(flags),
          features: [],
          missing: 'nan' as const,
          texts: true,
        }
        await writeTables({ ...options, tables: tablesIn(statement) }, flags, context)
      }
      return queryExport(directory, statement, { rowsMax, scratch: join(scratch, 'intermediate') })
    })
    context.print(flags['json'] === true ? jsonLines(result) : tableText(result, context.columns()))
    if (result.truncated)
      context.printMessage(`understudy: output limited to ${rowsMax} rows; use --rows to print more\n`)
  } catch (error) {
    if (error instanceof QueryError) throw new CommandError(error.message, { cause: error })
    throw error
  }
}

function checkExport(directory: string): void {
  if (!existsSync(join(directory, 'export.json')))
    throw new UsageError(`${directory} is not a complete export: it has no export.json`)
}

function jsonLines({ names, rows }: QueryResult): string {
  return rows
    .map((row) => `${JSON.stringify(Object.fromEntries(names.map((name, i) => [name, row[i] ?? null])))}\n`)
    .join('')
}

function tableText({ names, rows }: QueryResult, columns: number | undefined): string {
  const cells = rows.map((row) =>
    row.map((value) =>
      value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value),
    ),
  )
  return formatTable(names, cells, { cellsMax: columns })
}
