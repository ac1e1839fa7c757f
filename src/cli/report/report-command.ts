/**
 * `understudy report`: evaluates the stored cycles. How would the model have picked, next to the operators? Reads a data
 * directory whose server may run, or a backup.
 */
import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { loadCodec } from '../../codec/index.js'
import { cycleIdForm, parseInstant } from '../../contract/index.js'
import { evaluate, replayScores, reportJson, type EvaluationOptions } from '../../history/index.js'
import { loadModel, ModelError, type LoadedModel } from '../../model/index.js'
import type { Store } from '../../store/index.js'
import { addSettingFlags, type CommandContext } from '../context.js'
import { CommandError, messageOf, UsageError } from '../failure.js'
import { checkIdentity } from '../models/activate.js'
import { loadOptions, sessionSettingNames, withStore } from '../models/common.js'
import { settingsOf, type Flags } from '../read-settings.js'
import { excludedInputText } from '../models/golden.js'
import { reportHtml } from './report-html.js'
import { reportText } from './report-text.js'

export function addReportCommand(program: Command, context: CommandContext): void {
  const command = program
    .command('report')
    .description(
      'evaluate the stored cycles: what the model would have picked, next to the operators; the server may run',
    )
    .option('--from <time>', 'first cycle_time: a date (KST), a cycle id, or RFC 3339')
    .option('--to <time>', 'last cycle_time; a date means its last cycle')
    .option(
      '--models <versions>',
      'versions to compare, separated by commas; cycles without scores are replayed',
    )
    .option('--json', 'print JSON')
    .option('--html <file>', 'also write the report with plots to a file')
  addSettingFlags(command, [...sessionSettingNames, 'dataDir', 'codec']).action((flags: Flags) =>
    report(flags, context),
  )
}

async function report(flags: Flags, context: CommandContext): Promise<void> {
  const settings = settingsOf(flags, context)
  const { codec } = loadCodec(settings.codec)
  const fromMs = timeOf(flags['from'], '--from', false)
  const toMs = timeOf(flags['to'], '--to', true)
  if (fromMs !== undefined && toMs !== undefined && toMs < fromMs)
    throw new UsageError('--to is earlier than --from')
  const versions = versionsOf(flags['models'])
  await withStore(settings.dataDir, async (store) => {
    const loaded: LoadedModel[] = []
    const load = async (version: string): Promise<LoadedModel> => {
      const model = await loadModel({ ...loadOptions(version, settings, context), codec })
      loaded.push(model)
      checkIdentity(store, model)
      return model
    }
    const options: EvaluationOptions = {
      codec,
      ...(fromMs === undefined ? {} : { fromMs }),
      ...(toMs === undefined ? {} : { toMs }),
      ...(versions === undefined ? {} : { versions, replay: replayWith(store, codec, load, context) }),
    }
    try {
      const evaluation = await evaluate(store, options)
      if (typeof flags['html'] === 'string') writeFileSync(flags['html'], reportHtml(evaluation))
      context.print(
        flags['json'] === true
          ? `${JSON.stringify(reportJson(evaluation), null, 2)}\n`
          : reportText(evaluation, context.columns()),
      )
    } catch (error) {
      if (error instanceof ModelError || error instanceof CommandError) throw error
      throw new CommandError(`the report failed: ${messageOf(error)}`, { cause: error })
    } finally {
      await Promise.all(loaded.map((model) => model.close()))
    }
  })
}

function replayWith(
  store: Store,
  codec: EvaluationOptions['codec'],
  load: (version: string) => Promise<LoadedModel>,
  { printMessage }: CommandContext,
): NonNullable<EvaluationOptions['replay']> {
  return async (cycles, versions) => {
    const scores = new Map<string, ReadonlyMap<number, Float32Array>>()
    for (const version of versions)
      scores.set(
        version,
        await replayScores(store, {
          ...{ cycles, version, codec, load },
          onExcluded: (_, excluded) => printMessage(`${version}: ${excludedInputText(excluded)}`),
        }),
      )
    return scores
  }
}

function versionsOf(value: unknown): string[] | undefined {
  if (typeof value !== 'string') return undefined
  const versions = [...new Set(value.split(',').map((version) => version.trim()))]
  if (versions.some((version) => version === ''))
    throw new UsageError('--models must be versions separated by commas')
  return versions
}

const dayMs = 24 * 3_600_000

/** Milliseconds since 1970. A date is its first moment in KST, or with `isEnd` its last. */
function timeOf(value: unknown, flag: string, isEnd: boolean): number | undefined {
  if (typeof value !== 'string') return undefined
  const isDate = /^\d{4}-\d\d-\d\d$/.test(value)
  const text = isDate
    ? `${value}T00:00:00+09:00`
    : cycleIdForm.test(value)
      ? value.replace(/^(....)(..)(..T..)(..)$/, '$1-$2-$3:$4:00+09:00')
      : value
  const ms = parseInstant(text)?.ms
  if (ms === undefined)
    throw new UsageError(
      `${flag} must be a date, a cycle id or an RFC 3339 time, not ${JSON.stringify(value)}`,
    )
  return isDate && isEnd ? ms + dayMs - 1 : ms
}
