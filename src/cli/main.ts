/**
 * The command line: which commands there are, and how each ends. `bin/understudy` runs this file.
 */
import { Command, CommanderError } from 'commander'
import { addBackupCommand } from './backup-command.js'
import { addConfigCommand } from './config-command.js'
import { processContext, type CommandContext } from './context.js'
import { addDemoCommand } from './demo-command.js'
import { exitCode, reportFailure } from './failure.js'
import { packageVersion } from './package-info.js'
import { addModelsCommand } from './models/index.js'
import { addRehearseCommand } from './rehearse-command.js'
import { addRestoreCommand } from './restore-command.js'
import { addServeCommand } from './serve-command.js'
import { addVerifyCommand } from './verify-command.js'

/** Runs one command and returns the exit code: 0 done, 1 failed, 2 called wrongly. */
async function run(args: readonly string[], context: CommandContext): Promise<number> {
  const program = new Command('understudy')
    .description('A scoring service that rehearses beside the operators.')
    .version(packageVersion())
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => {
        // A suggestion comes on a line of its own; a failure is one line.
        write(text.replace(/^error: /, 'understudy: ').replace(/\n\(/, ' ('))
      },
    })
  for (const add of [
    addServeCommand,
    addDemoCommand,
    addRehearseCommand,
    addModelsCommand,
    addConfigCommand,
    addBackupCommand,
    addRestoreCommand,
    addVerifyCommand,
  ])
    add(program, context)
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode.ok
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(error, context.env, context.remark)
    // Help and version end in a CommanderError too, with exit code 0; its own code for wrong usage is 1.
    return error.exitCode === 0 ? exitCode.ok : exitCode.usage
  }
}

// Exits by itself: threads and sockets that a command left behind must not keep it alive.
process.exit(await run(process.argv.slice(2), processContext()))
