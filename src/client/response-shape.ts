/**
 * The shapes of the bodies that are results, to distinguish the service from a gateway that responds in its place. They
 * name each required member with its type; ranges and formats are the service's own. Unknown members are allowed.
 */
import { isObject } from '../base/json.js'
import type { OperationId } from '../contract/operations.js'
import type {
  Counts,
  CycleResponse,
  Health,
  ImageStored,
  OutcomesResponse,
  ResultRow,
  ResultStatus,
  Weights,
  WeightsAck,
  WeightsRecord,
  WeightsState,
} from '../contract/wire.js'

/** The path below the value of the first member that does not match, `''` for the value itself; null if all match. */
type Check = (value: unknown) => string | null

type RequiredName<T> = { [Name in keyof T]-?: undefined extends T[Name] ? never : Name }[keyof T]
type Members<T> = Readonly<Record<RequiredName<T>, Check>>

const isText = is((value) => typeof value === 'string')
const isTextOrNull = is((value) => typeof value === 'string' || value === null)
const isCount = is((value) => Number.isSafeInteger(value) && (value as number) >= 0)
const isFinite = is((value) => Number.isFinite(value))
const statuses: ReadonlySet<unknown> = new Set<ResultStatus>(['scored', 'waiting', 'not_scored'])

const isCounts = object<Counts>({
  candidates: isCount,
  engagement: isCount,
  candidate_scores: isCount,
  removals: isCount,
  scored_now: isCount,
  waiting: isCount,
  not_scored: isCount,
  results: isCount,
})

const hasRowMembers = object<ResultRow>({
  gall_id: isText,
  post_no: isCount,
  status: is((value) => statuses.has(value)),
  score: is((value) => value === null || Number.isFinite(value)),
})

/** A row has a score if, and only if, it is scored. */
const isRow: Check = (value) => {
  const problem = hasRowMembers(value)
  if (problem !== null) return problem
  const { status, score } = value as ResultRow
  return (status === 'scored') === (score !== null) ? null : '.score'
}

const hasCycleMembers = object<CycleResponse>({
  cycle_id: isText,
  cycle_time: isText,
  received_at: isText,
  scored_at: isText,
  model_version: isText,
  weights_version: isText,
  counts: isCounts,
  missing_feature_share: isFinite,
  warnings: list(isText),
  results: list(isRow),
})

const isCycleResponse: Check = (value) => {
  const problem = hasCycleMembers(value)
  if (problem !== null) return problem
  const { counts, results } = value as CycleResponse
  return counts.results === results.length ? null : '.counts.results'
}

const isWeights = object<Weights>({
  views: isFinite,
  comments: isFinite,
  up: isFinite,
  downvote_share: isFinite,
})

const isWeightsRecord = object<WeightsRecord>({
  version: isText,
  weights: isWeights,
  note: isText,
  set_at: isText,
  first_cycle_time: isText,
})

const checks: Readonly<Record<OperationId, Check>> = {
  postCycle: isCycleResponse,
  getScores: isCycleResponse,
  putImage: object<ImageStored>({ key: isText, sha256: isText, bytes: isCount }),
  getHealth: object<Health>({
    status: is((value) => value === 'ok' || value === 'degraded'),
    time: isText,
    api_version: isText,
    model_version: isText,
    weights_version: isText,
    last_cycle_id: isTextOrNull,
    last_cycle_received_at: isTextOrNull,
  }),
  postOutcomes: object<OutcomesResponse>({ received: isCount, created: isCount, updated: isCount }),
  getWeights: object<WeightsState>({
    current: isWeightsRecord,
    previous: (value) => (value === null ? null : isWeightsRecord(value)),
  }),
  putWeights: object<WeightsAck>({ version: isText, first_cycle_time: isText }),
}

/**
 * Where `value` is not a result of the operation, as `results[3].status`, or `''` for the whole value; null if it is one.
 */
export function findMismatch(id: OperationId, value: unknown): string | null {
  const path = checks[id](value)
  return path === null ? null : path.replace(/^\./, '')
}

function is(matches: (value: unknown) => boolean): Check {
  return (value) => (matches(value) ? null : '')
}

function object<T>(members: Members<T>): Check {
  const entries = Object.entries<Check>(members)
  return (value) => {
    if (!isObject(value)) return ''
    for (const [name, check] of entries) {
      const path = check(value[name])
      if (path !== null) return `.${name}${path}`
    }
    return null
  }
}

function list(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return ''
    for (let index = 0; index < value.length; index++) {
      const path = check(value[index])
      if (path !== null) return `[${index}]${path}`
    }
    return null
  }
}
