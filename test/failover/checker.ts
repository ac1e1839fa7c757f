/**
 * The rules of a failover, checked on a recorded history. Each violation is a sentence.
 */
import type { Attempt, History } from './history.js'

type Rule = (history: Acknowledged) => Iterable<string>

/** A history with what its successful responses guarantee. */
interface Acknowledged extends History {
  readonly successes: readonly (Attempt & { readonly endedMs: number })[]
  /** By cycle id: the time of the first acknowledgement. */
  readonly cycles: ReadonlyMap<string, { readonly atMs: number; readonly sent: string | null }>
}

/** Responses of a load balancer or a process that cannot serve the call now. */
const temporaryStatuses: readonly (number | null)[] = [null, 502, 503, 504]

const rules: readonly Rule[] = [
  oneResponse,
  onlyExpectedStatuses,
  nothingLost,
  readAgain,
  noGaps,
  labels,
  readyInTime,
]

/** What is wrong with a history, in at most `countMax` sentences; empty: nothing. */
export function checkHistory(history: History, countMax = 20): string[] {
  const successes = history.attempts.filter(
    (attempt): attempt is Attempt & { endedMs: number } =>
      attempt.content !== null && attempt.endedMs !== null,
  )
  const cycles = new Map<string, { atMs: number; sent: string | null }>()
  for (const { operation, endedMs, sent } of successes) {
    if (operation.kind !== 'cycle') continue
    const known = cycles.get(operation.cycleId)
    if (known === undefined || endedMs < known.atMs) cycles.set(operation.cycleId, { atMs: endedMs, sent })
  }
  const acknowledged = { ...history, successes, cycles }
  const found: string[] = []
  for (const rule of rules) {
    for (const violation of rule(acknowledged)) {
      found.push(violation)
      if (found.length === countMax) return found
    }
  }
  return found
}

/** No cycle has two responses, whoever sent them and however late they arrived. */
function* oneResponse({ successes }: Acknowledged): Iterable<string> {
  const first = new Map<string, Attempt>()
  for (const attempt of successes) {
    const { operation, content, via } = attempt
    if (operation.kind !== 'cycle' && operation.kind !== 'scores') continue
    const known = first.get(operation.cycleId) ?? attempt
    first.set(operation.cycleId, known)
    if (known.content?.sha256 !== content?.sha256)
      yield `cycle ${operation.cycleId} has two responses: one from ${known.via}, one from ${via}`
  }
}

/** A call gets its response, or is refused temporarily. Only other bytes under a known id are a conflict. */
function* onlyExpectedStatuses({ attempts, cycles, successes }: Acknowledged): Iterable<string> {
  const images = new Map(
    successes.flatMap(({ operation, sent }) => (operation.kind === 'image' ? [[operation.path, sent]] : [])),
  )
  for (const { operation, status, sent, via, content } of attempts) {
    const known =
      operation.kind === 'cycle'
        ? cycles.get(operation.cycleId)?.sent
        : operation.kind === 'image'
          ? images.get(operation.path)
          : undefined
    const isOther = known !== undefined && known !== sent
    if (isOther && content !== null) yield `${wordsOf(operation)}: other bytes were accepted by ${via}`
    if (content !== null || temporaryStatuses.includes(status)) continue
    if (status === 409 && isOther) continue
    // A read may come before the write.
    if (status === 404 && operation.kind === 'scores') continue
    yield `${wordsOf(operation)}: status ${String(status)} from ${via}`
  }
}

/** A call that began after an acknowledgement sees what was acknowledged. */
function* nothingLost(history: Acknowledged): Iterable<string> {
  const { attempts, cycles, successes, staleReads } = history
  const isStale = ({ startedMs }: Attempt): boolean =>
    staleReads.some(({ fromMs, toMs }) => fromMs <= startedMs && startedMs <= toMs)
  for (const attempt of attempts) {
    const { operation, startedMs, status, via } = attempt
    if (operation.kind !== 'scores' || status !== 404 || isStale(attempt)) continue
    const known = cycles.get(operation.cycleId)
    if (known !== undefined && known.atMs < startedMs)
      yield `cycle ${operation.cycleId} was acknowledged, and ${via} does not have it`
  }
  const images = new Map<string, number>()
  const outcomes = new Map<string, number>()
  const versions: string[] = []
  const byEnd = [...successes].sort((a, b) => a.endedMs - b.endedMs)
  for (const { operation, endedMs } of byEnd) {
    if (operation.kind === 'image') setFirst(images, operation.path, endedMs)
    if (operation.kind === 'outcomes')
      for (const id of operation.placementIds) setFirst(outcomes, id, endedMs)
    if (operation.kind === 'weights' && !versions.includes(operation.version))
      versions.push(operation.version)
  }
  const weightsAtMs = versions.map(
    (version) =>
      byEnd.find(({ operation }) => operation.kind === 'weights' && operation.version === version)?.endedMs ??
      Infinity,
  )
  for (const attempt of successes) {
    const { operation, startedMs, status, content, via } = attempt
    if (operation.kind === 'image' && status === 201 && (images.get(operation.path) ?? Infinity) < startedMs)
      yield `${wordsOf(operation)} was acknowledged, and ${via} did not have it`
    if (operation.kind === 'outcomes') {
      const knownCount = operation.placementIds.filter(
        (id) => (outcomes.get(id) ?? Infinity) < startedMs,
      ).length
      if ((content?.created ?? 0) > operation.placementIds.length - knownCount)
        yield `${wordsOf(operation)}: ${via} did not have outcomes that were acknowledged`
    }
    if (operation.kind === 'current weights' && !isStale(attempt)) {
      const newest = weightsAtMs.filter((atMs) => atMs < startedMs).length - 1
      const found = versions.indexOf(content?.version ?? '')
      // Unknown here: the initial ones, or some whose acknowledgement was lost.
      const isOld = found >= 0 ? found < newest : newest >= 0 && content?.version === 'initial'
      if (isOld) yield `weights ${versions[newest]!} were acknowledged, and ${via} has older ones`
    }
  }
}

/** Every acknowledged cycle was read again in the end, so that the rules above had something to compare. */
function* readAgain({ cycles, successes, readAgainMs }: Acknowledged): Iterable<string> {
  const read = new Set(
    successes.flatMap(({ operation, startedMs }) =>
      operation.kind === 'scores' && startedMs >= readAgainMs ? [operation.cycleId] : [],
    ),
  )
  for (const [cycleId, { atMs }] of cycles)
    if (atMs < readAgainMs && !read.has(cycleId))
      yield `cycle ${cycleId} was acknowledged and is not readable`
}

/**
 * Positions are 1, 2, 3, … in the order of the cycles. So are the numbers of entries, of which the oldest may be pruned, and no entry
 * has an older epoch than one before it.
 */
function* noGaps({ stored, cycles, readAgainMs }: Acknowledged): Iterable<string> {
  const byPosition = [...stored.cycles].sort((a, b) => a.position - b.position)
  for (const [index, { cycleId, position }] of byPosition.entries()) {
    if (position !== index + 1) {
      yield `cycle ${cycleId} has position ${position}, and not ${index + 1}`
      break
    }
    const before = byPosition[index - 1]
    if (before !== undefined && before.cycleId >= cycleId) yield `cycle ${cycleId} follows ${before.cycleId}`
  }
  const ids = new Set(stored.cycles.map(({ cycleId }) => cycleId))
  for (const [cycleId, { atMs }] of cycles)
    if (atMs < readAgainMs && !ids.has(cycleId))
      yield `cycle ${cycleId} was acknowledged and is not in the journal`
  for (const [index, { number, epoch }] of stored.entries.entries()) {
    const before = stored.entries[index - 1]
    if (before !== undefined && number !== before.number + 1) {
      yield `the journal has entry ${number} after ${before.number}`
      return
    }
    if (before !== undefined && before.epoch > epoch)
      yield `entry ${number} has epoch ${epoch}, after epoch ${before.epoch}`
  }
}

/** A cycle has the weights that were the last ones set among those that apply to it, and one model. */
function* labels({ successes }: Acknowledged): Iterable<string> {
  const settings = new Map<string, { atMs: number; firstCycleMs: number }>()
  for (const { operation, content, endedMs } of successes)
    if (
      operation.kind === 'weights' &&
      content?.firstCycleMs !== undefined &&
      !settings.has(operation.version)
    )
      settings.set(operation.version, { atMs: endedMs, firstCycleMs: content.firstCycleMs })
  const inOrder = [...settings].sort(([, a], [, b]) => a.atMs - b.atMs)
  const seen = new Set<string>()
  let model: string | undefined
  for (const { operation, content } of successes) {
    const found = content?.labels
    if (found === undefined || operation.kind !== 'cycle' || seen.has(operation.cycleId)) continue
    seen.add(operation.cycleId)
    const { cycleMs } = found
    const weights = inOrder.findLast(([, { firstCycleMs }]) => firstCycleMs <= cycleMs)?.[0] ?? 'initial'
    if (found.weights !== weights)
      yield `cycle ${operation.cycleId} has the weights ${found.weights}, and not ${weights}`
    model ??= found.model
    if (found.model !== model)
      yield `cycle ${operation.cycleId} has the model ${found.model}, and not ${model}`
  }
}

function* readyInTime({ outages }: Acknowledged): Iterable<string> {
  for (const { fault, startedMs, readyMs, limitMs } of outages) {
    if (readyMs === null) yield `${fault}: no process became ready`
    else if (readyMs - startedMs > limitMs)
      yield `${fault}: ready after ${Math.round(readyMs - startedMs)} ms, and not within ${limitMs}`
  }
}

function setFirst(map: Map<string, number>, key: string, value: number): void {
  if (!map.has(key)) map.set(key, value)
}

function wordsOf(operation: Attempt['operation']): string {
  switch (operation.kind) {
    case 'cycle':
    case 'scores':
      return `${operation.kind} ${operation.cycleId}`
    case 'image':
      return operation.path
    case 'outcomes':
      return `outcomes ${operation.placementIds.slice(0, 3).join(', ')}`
    case 'weights':
      return `weights ${operation.version}`
    case 'current weights':
      return operation.kind
  }
}
