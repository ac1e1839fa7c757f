/**
 * The health checks as readers see them: in their language, the disk in the units of the tiles, and the last cycle together with
 * the next one, so that nothing is green while a cycle is overdue.
 */
import { minuteMs } from '../../base/units.js'
import { reasonsText } from '../../contract/health.js'
import { ago, bytes, duration } from '../format.js'
import { t, word } from '../messages/index.js'
import type { Check, Now } from '../service/api.js'

/** A cycle may take a moment to arrive after it is due. */
const graceMs = minuteMs
/** A cycle that arrives further from its time is of a simulated or repeated past: the next one is not overdue. */
const delayMsMax = 30 * minuteMs

export interface NextCycle {
  readonly dueMs: number
  /** Cycles arrive at about their time. */
  readonly isLive: boolean
  /** null: it is not overdue. */
  readonly overdueMs: number | null
}

/** Null: no cycle has come, so that none is due. */
export function nextCycle(
  { next_cycle_due_at, last_cycle_received_at }: Now,
  nowMs: number,
): NextCycle | null {
  if (next_cycle_due_at === null || last_cycle_received_at === null) return null
  const dueMs = Date.parse(next_cycle_due_at)
  const isLive = Math.abs(Date.parse(last_cycle_received_at) - dueMs) < delayMsMax
  return { dueMs, isLive, overdueMs: isLive && nowMs > dueMs + graceMs ? nowMs - dueMs : null }
}

export interface ShownCheck {
  readonly check: Check['check']
  readonly status: Check['status']
  readonly text: string
}

export function shownChecks(now: Now, nowMs: number): ShownCheck[] {
  return now.checks.map(({ check, status, reasons }) => {
    if (check === 'last_cycle') return lastCycleCheck(now, status, nowMs)
    const { free_bytes } = now.storage
    const text =
      check === 'disk' && free_bytes !== null
        ? t.now.diskFree(bytes(free_bytes))
        : t.now.checkSays(check, status, reasonsText(reasons, t.health))
    return { check, status, text }
  })
}

function lastCycleCheck(now: Now, status: Check['status'], nowMs: number): ShownCheck {
  const overdueMs = nextCycle(now, nowMs)?.overdueMs ?? null
  const { last_cycle_received_at: at } = now
  const arrived = at === null ? t.now.lastCycleNone : t.now.lastCycleArrived(ago(at, nowMs))
  return {
    check: 'last_cycle',
    status: overdueMs !== null && status === 'ok' ? 'warn' : status,
    text: overdueMs === null ? arrived : t.now.overdueArrived(duration(overdueMs), arrived),
  }
}

/** The worst of all checks; the first one of several that are equally bad. */
export function worstOf(now: Now, nowMs: number): Pick<ShownCheck, 'status' | 'text'> {
  const checks = shownChecks(now, nowMs)
  for (const status of ['fail', 'warn'] as const) {
    const worst = checks.find((check) => check.status === status)
    if (worst !== undefined) return { status, text: t.frame.reason(word(worst.check), worst.text) }
  }
  return { status: 'ok', text: '' }
}
