/**
 * SIGHUP: a running service reads its settings again. Also what a terminal sends when it closes; a service that was
 * started in one then ends.
 */
import { isatty } from 'node:tty'

const terminalDescriptors = [0, 1, 2]

export interface HangUps {
  /** From now on each SIGHUP calls `reload`; those of the time before are made up for by one call. */
  begin(reload: () => void): void
  /** Resolves when the terminal in which the process was started has gone. */
  readonly terminalGone: Promise<void>
}

/** Heeds SIGHUP from here on; unheeded, it would end the process. */
export function heedHangUps(): HangUps {
  const terminals = terminalDescriptors.filter((descriptor) => isatty(descriptor))
  let reload: (() => void) | null = null
  let missed = false
  let end = (): void => undefined
  const terminalGone = new Promise<void>((resolve) => (end = resolve))
  process.on('SIGHUP', () => {
    // A descriptor of a terminal that has hung up is none of a terminal any more.
    if (terminals.some((descriptor) => !isatty(descriptor))) end()
    else if (reload === null) missed = true
    else reload()
  })
  return {
    terminalGone,
    begin: (action) => {
      reload = action
      if (missed) action()
    },
  }
}
