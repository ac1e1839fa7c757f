/**
 * `understudy journal`: the schema of the journal, its environments, and the import and export of a data directory.
 */
import type { Command } from 'commander'
import { resolve } from 'node:path'
import { sizeText } from '../../base/index.js'
import type { SettingName } from '../../settings/index.js'
import {
  createEnvironment,
  detachDirectory,
  exportDirectory,
  importDirectory,
  journalStatus,
  migrateJournal,
  type TransferFacts,
} from '../../store/index.js'
import { addSettingFlags, printResult, type CommandContext } from '../context.js'
import { keepFilesPrivate } from '../settings/data-directory.js'
import { UsageError } from '../failure.js'
import { journalStatusText } from './journal-status-text.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'

export function addJournalCommand(program: Command, context: CommandContext): void {
  const journal = program
    .command('journal')
    .description('the journal in PostgreSQL, for several processes of one environment')
  const add = (usage: string, settings: readonly SettingName[] = []): Command =>
    addSettingFlags(journal.command(usage).option('--json', 'print JSON'), settings)
  add('migrate')
    .description('create the tables, or upgrade them to the schema of this program')
    .action((flags: Flags) => migrate(flags, context))
  add('create <environment>')
    .description('create an environment without data')
    .action((environment: string, flags: Flags) => create(environment, flags, context))
  add('status')
    .description('show environments, owners and PostgreSQL standbys')
    .action((flags: Flags) => status(flags, context))
  add('import', ['dataDir', 'environment'])
    .description('move the data directory into a new environment; no server may be running')
    .action((flags: Flags) => importData(flags, context))
  add('export <dir>', ['environment'])
    .description('copy an environment to a new data directory, which needs no journal')
    .action((dir: string, flags: Flags) => exportData(dir, flags, context))
  add('detach', ['dataDir'])
    .description('make a data directory independent of a lost journal')
    .action((flags: Flags) => detach(flags, context))
}

async function migrate(flags: Flags, context: CommandContext): Promise<void> {
  const result = await migrateJournal(urlOf(flags, context))
  printResult(context, flags, result, () =>
    result.from === result.to
      ? `the journal has schema version ${result.to} already\n`
      : `the journal was migrated from schema version ${result.from} to ${result.to}\n`,
  )
}

async function create(environment: string, flags: Flags, context: CommandContext): Promise<void> {
  const url = urlOf(flags, context)
  // Checks the name.
  settingsOf({ ...flags, environment }, context)
  await createEnvironment(url, environment)
  printResult(context, flags, { environment }, () => `the journal has the environment ${environment}\n`)
}

async function detach(flags: Flags, context: CommandContext): Promise<void> {
  const { dataDir } = settingsOf(flags, context)
  keepFilesPrivate()
  const { environment, entry } = await detachDirectory({ dataDir })
  printResult(
    context,
    flags,
    { dataDir, environment, entry },
    () => `${dataDir} is independent: it has the environment ${environment} up to entry ${entry}\n`,
  )
}

async function status(flags: Flags, context: CommandContext): Promise<void> {
  const status = await journalStatus(urlOf(flags, context))
  printResult(context, flags, status, () => journalStatusText(status, context.columns()))
}

async function importData(flags: Flags, context: CommandContext): Promise<void> {
  const { dataDir } = settingsOf(flags, context)
  const environment = environmentOf(flags, context)
  keepFilesPrivate()
  const facts = await importDirectory({ journal: urlOf(flags, context), environment, directory: { dataDir } })
  printResult(
    context,
    flags,
    { environment, dataDir, ...facts },
    () =>
      `${dataDir} was imported into environment ${environment}: ${contentsOf(facts)}. The directory is now a view of it.\n`,
  )
}

async function exportData(dir: string, flags: Flags, context: CommandContext): Promise<void> {
  const dataDir = resolve(context.directory, dir)
  const environment = environmentOf(flags, context)
  keepFilesPrivate()
  const facts = await exportDirectory({ journal: urlOf(flags, context), environment, directory: { dataDir } })
  printResult(
    context,
    flags,
    { environment, dataDir, ...facts },
    () => `${environment} was copied to ${dataDir}: ${contentsOf(facts)}. The journal is unchanged.\n`,
  )
}

function contentsOf({ records, bytes, sha256 }: TransferFacts): string {
  return `${records} records, ${sizeText(bytes)}, verified (${sha256.slice(0, 16)})`
}

function urlOf(flags: Flags, context: CommandContext): string {
  const { journal } = settingsOf(flags, context)
  if (journal === undefined)
    throw new UsageError(
      'the setting journal is missing: set UNDERSTUDY_JOURNAL, or pass a settings file with --config',
    )
  return journal
}

function environmentOf(flags: Flags, context: CommandContext): string {
  const { environment } = settingsOf(flags, context)
  if (environment === undefined)
    throw new UsageError('the setting environment is missing: pass --environment')
  return environment
}
