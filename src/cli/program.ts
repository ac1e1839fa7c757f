/**
 * The program: parses the command line, runs one command and sets the exit code. `main.ts` loads it.
 */
import { Command, CommanderError } from 'commander'
import { endProcess } from '../base/index.js'
import { addCommands } from './commands.js'
import { processContext, type CommandContext } from './context.js'
import { exitCode, messageLine, reportFailure } from './failure.js'
import { packageVersion } from './package-info.js'

/** Runs one command and returns the exit code: 0 success, 1 failure, 2 wrong usage. */
async function run(args: readonly string[], context: CommandContext): Promise<number> {
  const program = new Command('understudy')
    .description('Scores cycles of posts with ONNX models, and stores every response durably.')
    .version(packageVersion())
    .exitOverride()
    .configureOutput({
      writeOut: context.print,
      writeErr: context.printMessage,
      outputError: (text, write) => {
        // A statement that begins with a comment of SQL.
        const isStatement = /^error: unknown option '--\s/.test(text)
        const problem = isStatement
          ? 'an argument that begins with - needs the argument -- before it\n'
          : text
        // Commander prints a suggestion on its own line; here an error is one line.
        write(`understudy: ${problem.replace(/^error: /, '').replace(/\n\(/, ' (')}`)
      },
    })
  addCommands(program, context)
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode.ok
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(error, context.env, context.printMessage)
    // Help and version are CommanderErrors with exit code 0. For wrong usage Commander has 1, this program 2.
    return error.exitCode === 0 ? exitCode.ok : exitCode.usage
  }
}

/** Resolves when the reader of a pipe has taken all output, or has closed it. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.on('error', () => resolve())
    stream.write('', () => resolve())
  })
}

// With NODE_USE_ENV_PROXY, Node sends every request through HTTP_PROXY. A proxy does not reach the services of this machine.
process.env['NO_PROXY'] = [
  process.env['no_proxy'] ?? process.env['NO_PROXY'],
  'localhost',
  '127.0.0.1',
  '[::1]',
]
  .filter(Boolean)
  .join()
delete process.env['no_proxy']

const outputErrors: Error[] = []
const context = processContext((error) => outputErrors.push(error))
// One line, like other messages of the program.
process.removeAllListeners('warning')
process.on('warning', ({ message }) => context.printMessage(`understudy: warning: ${message}\n`))
// Without the flag of bin/understudy, Node would open its debugger.
process.on('SIGUSR1', () => undefined)
const code = await run(process.argv.slice(2), context)
await Promise.all([process.stdout, process.stderr].map(written))
const [outputError] = outputErrors
if (outputError !== undefined)
  context.printMessage(`understudy: the output cannot be written: ${messageLine(outputError)}\n`)
const isIncomplete = outputError !== undefined && code === exitCode.ok
// Explicit exit: threads and sockets that a command left open must not keep the process alive, nor a volume that does not respond.
endProcess(isIncomplete ? exitCode.failure : code)
