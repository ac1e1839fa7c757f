/**
 * Bodies other than cycles: outcomes and settings of weights, from bytes to values.
 */
import {
  checkOutcomes,
  checkWeights,
  type OutcomesRequest,
  type Problems,
  type WeightsRequest,
} from '../contract/index.js'
import { parseJson } from './json-text.js'

/** One outcome as the store keeps it: normalised JSON, independent of the spelling in the request. */
export interface OutcomeRecord {
  readonly placementId: string
  readonly json: string
}

/** The outcomes of a body, in its order. Throws `bad_request` as `decodeCycle` does. */
export function parseOutcomes(body: Uint8Array): OutcomeRecord[] {
  const value = decode(body, checkOutcomes, 'invalid_outcomes') as OutcomesRequest
  return value.outcomes.map((record) => ({
    placementId: record.placement_id,
    json: JSON.stringify(record),
  }))
}

/** A setting of weights. Throws `bad_request` as `decodeCycle` does. */
export function parseWeights(body: Uint8Array): WeightsRequest {
  return decode(body, checkWeights, 'invalid_weights') as WeightsRequest
}

function decode(
  body: Uint8Array,
  check: (value: unknown) => Problems | null,
  code: 'invalid_outcomes' | 'invalid_weights',
): unknown {
  const value = parseJson(body)
  const problems = check(value)
  if (problems !== null) throw problems.toError(code)
  return value
}
