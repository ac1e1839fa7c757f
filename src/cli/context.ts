/**
 * The process environment of a command: variables, working directory, output streams, signals, flags of settings.
 */
import { InvalidArgumentError, Option, type Command } from 'commander'
import { codeOf } from '../base/index.js'
import type { DisplayTarget } from './text/progress-display.js'
import {
  flagOf,
  defaultTextOf,
  helpTextOf,
  namesOf,
  settingNames,
  settingsTable,
  type SettingName,
} from '../settings/index.js'
import { plainLines } from './text/text-table.js'

export interface CommandContext {
  readonly env: NodeJS.ProcessEnv
  /** Working directory. */
  readonly directory: string
  /** Writes results: stdout. */
  readonly print: (text: string) => void
  /** Width of stdout in cells, if it is a terminal. */
  readonly columns: () => number | undefined
  /** Writes messages: stderr. */
  readonly printMessage: (text: string) => void
  /** Resolves when the program that reads stdout or stderr from a pipe has closed it, as `head` does. */
  readonly readerGone: Promise<void>
  /** Shows progress: stderr, so that stdout contains only results. */
  readonly display: DisplayTarget
}

/** The context of this process. `onOutputError`: called when output cannot be written although it is still read. */
export function processContext(onOutputError: (error: Error) => void = () => undefined): CommandContext {
  let resolveReaderGone = (): void => undefined
  const readerGone = new Promise<void>((resolve) => (resolveReaderGone = resolve))
  const watched = new Set<NodeJS.WriteStream>()
  // Not before a stream is used: a server writes its log to the descriptor of stdout, which the stream would change.
  const write = (stream: NodeJS.WriteStream, text: string): void => {
    if (!watched.has(stream))
      stream.on('error', (error: Error) =>
        codeOf(error) === 'EPIPE' ? resolveReaderGone() : onOutputError(error),
      )
    watched.add(stream)
    stream.write(text)
  }
  return {
    env: process.env,
    directory: process.cwd(),
    print: (text) => write(process.stdout, text),
    columns: () => (process.stdout.isTTY ? widthOf(process.stdout) : undefined),
    printMessage: (text) => write(process.stderr, text),
    readerGone,
    display: {
      write: (text) => write(process.stderr, text),
      isTerminal: process.stderr.isTTY,
      columns: () => widthOf(process.stderr) ?? Infinity,
      now: () => performance.now(),
    },
  }
}

/** A terminal without a size reports 0 columns: a serial console, `script`, a container started with a terminal of no client. */
function widthOf({ columns }: NodeJS.WriteStream): number | undefined {
  return columns > 0 ? columns : undefined
}

/** Prints a result: as JSON with `--json`, otherwise as text. */
export function printResult(
  { print }: CommandContext,
  { json }: { readonly json?: unknown },
  value: object,
  text: () => string,
): void {
  print(json === true ? `${JSON.stringify(value, null, 2)}\n` : plainLines(text()))
}

/** Adds `--config` and the flags of some settings to a command. Without names: all settings, as a server has them. */
export function addSettingFlags(command: Command, names?: readonly SettingName[]): Command {
  command.option('--config <file>', 'JSON file with settings (or UNDERSTUDY_CONFIG)')
  let group = 'Options'
  for (const name of names ?? settingNames) {
    const flag = flagOf(name)
    const description = names === undefined ? helpTextOf(name) : settingsTable[name].description
    const words = `${description.replace(/\.$/, '')} (default: ${defaultTextOf(name)})`.replaceAll('`', '')
    if (names === undefined) group = settingsTable[name].group ?? group
    if (flag === null) continue
    command.addOption(new Option(`${flag} <value>`, words).helpGroup(`${group}:`))
    for (const earlier of namesOf(name).slice(1))
      command.addOption(new Option(`${earlier.flag} <value>`).hideHelp())
  }
  return command
}

/** Parses the number of a flag; commander prints the error on one line. */
export function numberArgument(value: string): number {
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError('It must be a number.')
  return number
}

/** A parser of integers in a range. */
export function integerArgument(
  minimum: number,
  maximum = Number.MAX_SAFE_INTEGER,
): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (value.trim() !== '' && Number.isInteger(number) && number >= minimum && number <= maximum)
      return number
    const range =
      maximum === Number.MAX_SAFE_INTEGER ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`
    throw new InvalidArgumentError(`It must be an integer ${range}.`)
  }
}

/** Resolves with the first SIGINT or SIGTERM. Later ones are ignored: npm sends a Ctrl-C a second time. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, resolve)
  })
}
