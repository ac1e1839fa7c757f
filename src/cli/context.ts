/**
 * What a command may touch of the process around it.
 */
import { InvalidArgumentError, type Command } from 'commander'
import type { DisplayTarget } from './progress-display.js'
import {
  flagOf,
  fallbackWordsOf,
  serverWordsOf,
  settingNames,
  settingsTable,
  type SettingName,
} from './settings-table.js'

export interface CommandContext {
  readonly env: NodeJS.ProcessEnv
  /** Working directory. */
  readonly directory: string
  /** What the command is for: stdout. */
  readonly print: (text: string) => void
  /** Cells in a line of stdout where it is a terminal. */
  readonly columns: () => number | undefined
  /** Remarks about it: stderr. */
  readonly remark: (text: string) => void
  /** Where progress is shown: stderr too, so that stdout has the results alone. */
  readonly display: DisplayTarget
}

/** The context of this very process. */
export function processContext(): CommandContext {
  return {
    env: process.env,
    directory: process.cwd(),
    print: (text) => void process.stdout.write(text),
    columns: () => (process.stdout.isTTY ? process.stdout.columns : undefined),
    remark: (text) => void process.stderr.write(text),
    display: {
      write: (text) => void process.stderr.write(text),
      isTerminal: process.stderr.isTTY,
      columns: () => process.stderr.columns,
      now: () => performance.now(),
    },
  }
}

/** Gives a command `--config` and the flags of some settings, or of all: then they are those of a server. */
export function addSettingFlags(command: Command, names?: readonly SettingName[]): Command {
  command.option('--config <file>', 'JSON file with settings (or UNDERSTUDY_CONFIG)')
  for (const name of names ?? settingNames) {
    const flag = flagOf(name)
    const description = names === undefined ? serverWordsOf(name) : settingsTable[name].description
    const words = `${description.replace(/\.$/, '')} (default: ${fallbackWordsOf(name)})`.replaceAll('`', '')
    if (flag !== null) command.option(`${flag} <value>`, words)
  }
  return command
}

/** Reads the number of a flag; commander turns the refusal into one line. */
export function numberArgument(value: string): number {
  const number = Number(value)
  if (value.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError('It must be a number.')
  return number
}

/** Resolves with the first SIGINT or SIGTERM. Later ones are ignored: npm sends a Ctrl-C a second time. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, resolve)
  })
}
