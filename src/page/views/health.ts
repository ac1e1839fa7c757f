/**
 * The health checks as readers see them: in their language, the disk in the units of the tiles. While a cycle is overdue, that
 * is a check of the page's own, `next_cycle`: the service's check `last_cycle` warns only of an old one (docs/page.md).
 */
import { reasonsInShort, reasonsText } from '../../contract/health.js'
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
  /** A sentence. */
  readonly text: string
  /** The same with details, unless another part of Now has them. */
  readonly longText: string
}

export function shownChecks(now: Now, nowMs: number): ShownCheck[] {
  const lateMs = overdueMs(now, nowMs)
  return now.checks.flatMap((one): ShownCheck[] => {
    const shown = shownCheck(one, now, nowMs)
    if (one.check !== 'last_cycle' || lateMs === null) return [shown]
    const text = t.now.nextCycleOverdue(duration(lateMs))
    return [shown, { check: 'next_cycle', status: 'warn', text, longText: text }]
  })
}

function shownCheck({ check, status, reasons }: Check, now: Now, nowMs: number): ShownCheck {
  const { free_bytes } = now.storage
  const figure =
    check === 'last_cycle'
      ? arrivedText(now, nowMs)
      : check === 'disk' && free_bytes !== null
        ? t.now.diskFree(bytes(free_bytes))
        : null
  const text = figure ?? reasonsInShort(reasons, t.health)
  // The notices of the versions that failed have those.
  const hasNotice = check === 'model' && now.failed_versions.length > 0
  return { check, status, text, longText: hasNotice ? text : (figure ?? reasonsText(reasons, t.health)) }
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
