/**
 * How a command fails: with one clear line on stderr and an exit code. Anything else that is thrown is a bug,
 * and even a bug shows its stack only when UNDERSTUDY_DEBUG asks for it.
 */

export const exitCode = { ok: 0, failure: 1, usage: 2 } as const

/** Expected trouble that ends a command. The message is one line for the person at the terminal. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, options: ErrorOptions & { exitCode?: number } = {}) {
    super(message, options)
    this.name = 'CommandError'
    this.exitCode = options.exitCode ?? exitCode.failure
  }
}

/** The command was called, or is configured, in a way that can not work: exit code 2. */
export class UsageError extends CommandError {
  constructor(message: string) {
    super(message, { exitCode: exitCode.usage })
    this.name = 'UsageError'
  }
}

/** Prints what went wrong and returns the exit code that goes with it. */
export function reportFailure(error: unknown, env: NodeJS.ProcessEnv, print: (text: string) => void): number {
  if (env['UNDERSTUDY_DEBUG'] && error instanceof Error) print(`${error.stack ?? String(error)}\n`)
  else print(`understudy: ${messageOf(error)}\n`)
  return error instanceof CommandError ? error.exitCode : exitCode.failure
}

/** The message of whatever was thrown, on one line. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.trim().replace(/\s*\n\s*/g, '; ') || 'failed without a message'
}
