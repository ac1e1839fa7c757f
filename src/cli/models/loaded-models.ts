/**
 * The recorded cycles and the models with which a command scores them.
 */
import { expectedError, withHistory, type History } from '../../history/index.js'
import type { CommandContext } from '../context.js'
import { CommandError } from '../failure.js'
import { settingsOf, type Flags } from '../read-settings.js'
import { messageLog, requireDirectory } from './common.js'

/** `withHistory` with the settings of a command. Unexpected errors begin with `failure`. */
export async function withModels(
  flags: Flags,
  context: CommandContext,
  failure: string,
  use: (history: History) => Promise<void>,
): Promise<void> {
  const settings = settingsOf(flags, context)
  requireDirectory(settings.dataDir)
  await withHistory(settings, messageLog(context), async (history) => {
    try {
      await use(history)
    } catch (error) {
      throw error instanceof CommandError ? error : expectedError(error, failure)
    }
  })
}
