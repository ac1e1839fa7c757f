/**
 * `understudy report`: evaluates the stored cycles. How would the model have picked, compared with the operators? Reads a data
 * directory whose server may be running, or a backup.
 */
import { resolve } from 'node:path'
import { InvalidArgumentError, type Command } from 'commander'
import type { Report } from '../../contract/index.js'
import { evaluate, failures, historySettingNames, replayScores } from '../../history/index.js'
import { addSettingFlags, printResult, type CommandContext } from '../context.js'
import { replaceFile } from '../settings/data-directory.js'
import { UsageError } from '../failure.js'
import { excludedInputText } from '../models/golden.js'
import { withModels } from '../store/open-store.js'
import type { Flags } from '../settings/read-settings.js'
import { addRangeFlags, timeRangeOf } from './time-range.js'
import { reportText } from './report-text.js'

export function addReportCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('report')
    .description(
      'evaluate the stored cycles: what the model would have picked, compared with the operators; the server may be running',
    )
  addRangeFlags(command)
    .option(
      '--models <versions>',
      'versions to compare, separated by commas; cycles without scores are replayed',
    )
    .option('--json', 'print JSON')
    .option('--html <file>', 'also write the report to a file, as one page to read and to print')
    .option(
      '--language <language>',
      'in which the file opens, en or ko; its reader can switch',
      languageArgument,
      'en',
    )
  addSettingFlags(command, historySettingNames).action((flags: Flags) => report(flags, context))
}

async function report(flags: Flags, context: CommandContext): Promise<void> {
  const range = timeRangeOf(flags)
  const versions = versionsOf(flags['models'])
  const html = typeof flags['html'] === 'string' ? resolve(context.directory, flags['html']) : null
  await withModels(flags, context, failures.report, async ({ store, load }) => {
    const result = evaluate(store, {
      ...range,
      ...(versions && {
        versions,
        replayed: await replayScores(store, {
          ...range,
          versions,
          load,
          onExcluded: (version, excluded) =>
            context.printMessage(`${version}: ${excludedInputText(excluded)}`),
        }),
      }),
    })
    if (html !== null) replaceFile(html, await documentOf(result, flags['language'] as Language))
    printResult(context, flags, result, () => reportText(result, context.columns()))
  })
}

/** The Report view of the page, which the build bundles for Node. */
async function documentOf(result: Report, language: Language): Promise<string> {
  const module = new URL('../../page/report-document.js', import.meta.url)
  const { reportDocument } = (await import(module.href)) as {
    reportDocument: (report: Report, first: Language) => string
  }
  return reportDocument(result, language)
}

type Language = 'en' | 'ko'

function languageArgument(value: string): Language {
  if (value === 'en' || value === 'ko') return value
  throw new InvalidArgumentError('It must be en or ko.')
}

function versionsOf(value: unknown): string[] | undefined {
  if (typeof value !== 'string') return undefined
  const versions = [...new Set(value.split(',').map((version) => version.trim()))]
  if (versions.some((version) => version === ''))
    throw new UsageError('--models must be versions separated by commas')
  return versions
}
