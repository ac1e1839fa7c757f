/**
 * Reads the settings again while the server runs (SIGHUP). All changes that need no restart are applied together, or none
 * if the new settings are not valid.
 */
import { type Log, messageOf } from '../base/index.js'
import type { ImageSemaphore } from '../images/index.js'
import type { ApiKeys } from './api-keys.js'
import type { BodyMemory } from './body.js'
import { isoTime } from './certificate-dates.js'
import type { ConnectionLimit } from './connection-limit.js'
import type { HttpListener } from './http-listener.js'
import { fileKeyOf, needsRestart, settingNames, type Settings } from '../settings/index.js'

type ServerSettingName = keyof Settings

export interface SettingsChange {
  /** Frozen: the settings in force with the changes that are applied. */
  readonly next: Settings
  readonly applied: readonly ServerSettingName[]
  /** Settings that differ and need a restart. */
  readonly deferred: readonly ServerSettingName[]
}

/** The changes in a server that runs with `now`. */
export function changeOf(now: Settings, requested: Settings): SettingsChange {
  const changed = settingNames
    .filter((name) => name !== 'apiKeysFile')
    .filter((name) => JSON.stringify(now[name]) !== JSON.stringify(requested[name]))
  const deferred = changed.filter((name) => needsRestart(name, now[name], requested[name]))
  const applied = changed.filter((name) => !deferred.includes(name))
  const next = { ...now, ...Object.fromEntries(applied.map((name) => [name, requested[name]])) }
  return { next: Object.freeze(next), applied, deferred }
}

/** The parts that hold values of settings. All others read `current.settings` each time. */
export interface ReloadParts {
  readonly current: { settings: Settings }
  readonly apiKeys: ApiKeys
  readonly bodies: BodyMemory
  readonly imageSemaphore: ImageSemaphore
  readonly connections: ConnectionLimit
  readonly listener: HttpListener
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly log: Log & { level: string }
}

/**
 * Applies the changed settings, or changes nothing, logs the reason and returns false. `read` reads the settings as at startup, and
 * throws an `Error` with a message of one line.
 */
export function reload(parts: ReloadParts, read: () => Settings): boolean {
  const { current, listener, log } = parts
  let change: SettingsChange
  let isRenewed: boolean
  try {
    change = changeOf(current.settings, read())
    // The last step that can fail.
    isRenewed = listener.renewCertificate(change.next, parts.clock())
  } catch (error) {
    log.error({ problem: messageOf(error) }, 'the settings were not reloaded; the old ones stay in force')
    return false
  }
  current.settings = change.next
  apply(parts, change)
  const { certificateDates } = listener
  const renewal =
    isRenewed && certificateDates !== null
      ? { certificate: 'renewed', valid_to: isoTime(certificateDates.validTo) }
      : {}
  log.info({ changed: change.applied.map(fileKeyOf), ...renewal }, 'settings reloaded')
  if (change.deferred.length > 0)
    log.warn({ settings: change.deferred.map(fileKeyOf) }, 'changed settings need a restart')
  return true
}

/** Images that wait to be decoded may take half of the memory for bodies. */
export function waitingImageBytesMax({ bodiesBytesMax }: Settings): number {
  return bodiesBytesMax / 2
}

function apply(parts: ReloadParts, { next, applied }: SettingsChange): void {
  parts.log.level = next.logLevel
  parts.apiKeys.replace(next.apiKeys)
  parts.bodies.bytesMax = next.bodiesBytesMax
  parts.imageSemaphore.waitingBytesMax = waitingImageBytesMax(next)
  if (applied.includes('connectionsMax')) parts.connections.limit(next.connectionsMax)
}
