/**
 * The health checks as readers see them: in their language, the disk in the units of the tiles. While a cycle is overdue, that
 * is a check of the page's own, `next_cycle`: the service's check `last_cycle` warns only of an old one (docs/page.md).
 */
import { reasonsText } from '../../contract/health.js'
import { ago, bytes, duration } from '../format.js'
import { t, word } from '../messages/index.js'
import type { Check, Now } from '../service/api.js'

/** Null: the next cycle is not overdue. */
export function overdueMs({ next_cycle: next }: Now, nowMs: number): number | null {
  if (next === null || next.overdue_from === null || nowMs <= Date.parse(next.overdue_from)) return null
  return nowMs - Date.parse(next.due_at)
}

export interface ShownCheck {
  readonly check: Check['check'] | 'next_cycle'
  readonly status: Check['status']
  readonly text: string
}

export function shownChecks(now: Now, nowMs: number): ShownCheck[] {
  const lateMs = overdueMs(now, nowMs)
  const next: ShownCheck[] =
    lateMs === null ? [] : [{ check: 'next_cycle', status: 'warn', text: t.now.overdue(duration(lateMs)) }]
  return now.checks.flatMap(({ check, status, reasons }): ShownCheck[] => {
    if (check === 'last_cycle') return [{ check, status, text: arrivedText(now, nowMs) }, ...next]
    const { free_bytes } = now.storage
    const text =
      check === 'disk' && free_bytes !== null
        ? t.now.diskFree(bytes(free_bytes))
        : t.now.checkSays(check, status, reasonsText(reasons, t.health))
    return [{ check, status, text }]
  })
}

function arrivedText({ last_cycle_received_at: at }: Now, nowMs: number): string {
  return at === null ? t.now.lastCycleNone : t.now.lastCycleArrived(ago(at, nowMs))
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
