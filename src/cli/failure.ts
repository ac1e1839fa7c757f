/**
 * Errors of commands: one line on stderr and an exit code. The stack is printed only when UNDERSTUDY_DEBUG is set.
 */
import { messageOf } from '../base/index.js'
import { inOneLine } from './text/text-table.js'

export const exitCode = { ok: 0, failure: 1, usage: 2 } as const

/** An expected error that ends a command. The message is one line for the user. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, options: ErrorOptions & { exitCode?: number } = {}) {
    super(message, options)
    this.name = 'CommandError'
    this.exitCode = options.exitCode ?? exitCode.failure
  }
}

/** Wrong usage or configuration: exit code 2. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, { exitCode: exitCode.usage })
    this.name = 'UsageError'
  }
}

/** Prints the error and returns its exit code. */
export function reportFailure(error: unknown, env: NodeJS.ProcessEnv, print: (text: string) => void): number {
  if (env['UNDERSTUDY_DEBUG'] && error instanceof Error) print(`${error.stack ?? String(error)}\n`)
  else print(`understudy: ${messageLine(error)}\n`)
  return error instanceof CommandError ? error.exitCode : exitCode.failure
}

export function messageLine(error: unknown): string {
  const message = messageOf(error).trim()
  return inOneLine(message.replace(/\s*\n\s*/g, '; ')) || 'failed without a message'
}

/**
 * Editors and shells of Windows write a byte order mark, or UTF-16. No parser of this program takes them, and the error of
 * a parser does not show an invisible character.
 */
const marks = [
  [[0xef, 0xbb, 0xbf], 'starts with a byte order mark (BOM): save it as UTF-8 without BOM'],
  [[0xff, 0xfe], 'is in UTF-16: save it as UTF-8 without BOM'],
  [[0xfe, 0xff], 'is in UTF-16: save it as UTF-8 without BOM'],
] as const

/** What a text file starts with that it must not, and the remedy; null: nothing. */
export function encodingProblem(bytes: Uint8Array): string | null {
  const match = marks.find(([mark]) => mark.every((byte, index) => bytes[index] === byte))
  return match === undefined ? null : match[1]
}
