/**
 * SIGHUP: a running service reloads its settings. A terminal sends it too when it closes; a service that was started in
 * this terminal then stops.
 */
import { isatty } from 'node:tty'
import { inBackground } from '../../base/index.js'

const terminalDescriptors = [0, 1, 2]

export interface SighupHandler {
  /** From now on each SIGHUP calls `reload`; earlier ones cause one call. */
  begin(reload: () => void): void
  /** Resolves when the terminal in which the process was started has closed. */
  readonly terminalGone: Promise<void>
}

/** Handles SIGHUP, which otherwise ends the process. */
export function handleSighup(): SighupHandler {
  const terminals = terminalDescriptors.filter((descriptor) => isatty(descriptor))
  let reload: (() => void) | null = null
  let missed = false
  let end = (): void => undefined
  const terminalGone = new Promise<void>((resolve) => (end = resolve))
  process.on('SIGHUP', () => {
    // After a hang-up, the descriptor of a terminal is no longer a TTY.
    if (terminals.some((descriptor) => !isatty(descriptor))) end()
    else if (reload === null) missed = true
    else inBackground('settings reload', reload)
  })
  return {
    terminalGone,
    begin: (action) => {
      reload = action
      if (missed) action()
    },
  }
}
