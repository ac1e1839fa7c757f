/**
 * Health checks: what `/readyz` reports, one line per check. A check that fails makes the service not ready; a warning
 * does not. The age of the last cycle only warns: a load balancer that took a service without cycles out of service
 * would never send it the next one.
 */
import { gibibyte, minuteMs } from '../base/index.js'
import type { Check, FailedVersion, HealthReason } from '../contract/index.js'
import type { ModelLifecycle } from '../model/index.js'
import { diskReason, lastCycleOf, type DiskFigures, type ServerSources } from '../server/index.js'

/** Ordered as in `/readyz`. */
export const checkNames = [
  'service',
  'model',
  'storage',
  'last_cycle',
  'clock',
  'disk',
] as const satisfies readonly Check['check'][]

/** Three cycles at the usual interval. */
const lastCycleMsMax = 15 * minuteMs
const diskBytesWarn = 2 * gibibyte

export class HealthChecks {
  readonly #sources: ServerSources

  constructor(sources: ServerSources) {
    this.#sources = sources
  }

  /** Ordered as `checkNames`; `clock` only when it warns. `isStandbyOk`: whether a process could serve if it were the owner. */
  async run(isStandbyOk = false): Promise<Check[]> {
    // The problems have its figures, too.
    const figures = await this.#sources.disk.read()
    const problems = this.#problems(isStandbyOk).map((check) =>
      check.check === 'storage' ? this.#withJournal(check) : check,
    )
    return [...problems, this.#lastCycle(), ...this.#clock(), this.#disk(figures)]
  }

  /**
   * A standby that cannot use the journal could not take over. For the owner that is a warning: if it lasts, the process loses
   * its lease, and `service` fails.
   */
  #withJournal(storage: Check): Check {
    const { replication, role } = this.#sources.store
    if (replication === null) return storage
    const { epoch, entry, problem, isSynchronous } = replication
    const state: HealthReason = { code: 'journal_state', role, epoch, entry }
    const hasFailed = storage.status === 'fail'
    if (problem !== null) {
      const reasons: HealthReason[] = [{ code: 'journal_fails', problem }, state]
      if (hasFailed) return { ...storage, reasons: [...storage.reasons, ...reasons] }
      return { ...storage, status: role === 'standby' ? 'fail' : 'warn', reasons }
    }
    if (hasFailed) return storage
    if (isSynchronous) return { ...storage, reasons: [state] }
    return { ...storage, status: 'warn', reasons: [{ code: 'no_synchronous_standby' }, state] }
  }

  /**
   * The same reasons that make health `degraded`. A model that fails cycles only warns, for the same reason as the age of
   * the last cycle; so does a version that failed to load while another one serves.
   */
  #problems(isStandbyOk: boolean): Check[] {
    const { cycles, models } = this.#sources
    const problems = cycles.problems(isStandbyOk)
    return (['service', 'model', 'storage'] as const).map((check) => {
      const ofCheck = problems.filter((problem) => problem.check === check)
      const reasons = ofCheck.map(({ reason }) => reason)
      const hasFailed = ofCheck.some(({ severity }) => severity === 'fail')
      const status = hasFailed ? 'fail' : reasons.length > 0 ? 'warn' : 'ok'
      if (reasons.length === 0) reasons.push({ code: okCodes[check] })
      // A version for which another one serves is among the problems.
      const replaced = models.fallback?.failed
      const failures =
        check === 'model'
          ? failedVersions(models).filter(({ kind, version }) => kind !== 'cycles' && version !== replaced)
          : []
      for (const { version, problem } of failures)
        reasons.push({ code: 'version_not_loaded', version, problem })
      return { check, status: status === 'ok' && failures.length > 0 ? 'warn' : status, reasons }
    })
  }

  #disk(figures: DiskFigures): Check {
    const problem = this.#sources.cycles.problems().find(({ check }) => check === 'disk')
    const isLow = (figures.freeBytes ?? 0) < diskBytesWarn
    const status = problem?.severity ?? (isLow ? 'warn' : 'ok')
    return { check: 'disk', status, reasons: [problem?.reason ?? diskReason(figures)] }
  }

  #lastCycle(): Check {
    const { clock, cycles } = this.#sources
    const last = lastCycleOf(cycles)
    const check = 'last_cycle'
    if (last === undefined) return { check, status: 'ok', reasons: [{ code: 'no_cycle' }] }
    const ageMs = clock() - Date.parse(last.receivedAt)
    const age_s = Math.max(0, Math.round(ageMs / 1000))
    const reasons: HealthReason[] = [{ code: 'last_cycle', cycle_id: last.cycleId, age_s }]
    return { check, status: ageMs > lastCycleMsMax ? 'warn' : 'ok', reasons }
  }

  /** Only a warning: the client sends a cycle again that was refused because its `cycle_time` is in the future. */
  #clock(): Check[] {
    const { clock, cycles } = this.#sources
    const refused = cycles.clocks.refused(clock())
    if (refused === null) return []
    const { count, last } = refused
    const ahead_s = Math.round(last.aheadMs / 100) / 10
    const reasons: HealthReason[] = [
      { code: 'clocks_differ', cycles: count, cycle_id: last.cycleId, ahead_s },
    ]
    return [{ check: 'clock', status: 'warn', reasons }]
  }
}

const okCodes = { service: 'accepts_requests', model: 'model_serves', storage: 'storage_writable' } as const

/**
 * Versions that `ACTIVE` or `SHADOW` names and that could not be loaded, or that failed their cycles: another version serves, so
 * nothing else of the service shows it. Includes those that are tried again.
 */
export function failedVersions({ versions, status }: ModelLifecycle): FailedVersion[] {
  return versions.flatMap(({ version, role, state }) => {
    const failure = status.failures.find((one) => one.version === version && one.role === role)
    if (failure === undefined || state === 'serving' || state === 'shadow') return []
    const { kind = 'load', problem, atMs } = failure
    return { version, kind, role, problem, at: new Date(atMs).toISOString() }
  })
}
