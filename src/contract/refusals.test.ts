/** Refusals on the wire: the status and message of each form of sentence. */
import { expect, test } from 'vitest'
import { callProblemText, refusalSentences, type Refusal } from './refusals.js'
import { ServiceError } from './service-error.js'

const refusals: readonly (readonly [Refusal, status: number, message: string])[] = [
  [{ code: 'disconnected' }, 400, 'the client disconnected'],
  [{ code: 'not_utf8', byte: 7 }, 400, 'the body is not valid UTF-8 at byte 7'],
  [{ code: 'not_json', byte: 7 }, 400, 'the body is not valid JSON at byte 7'],
  [{ code: 'json_ends_early', byte: 7 }, 400, 'the body ends too early, at byte 7'],
  [{ code: 'json_too_deep', levels_max: 3, byte: 7 }, 400, 'the body nests deeper than 3 levels at byte 7'],
  [
    { code: 'too_many_containers', containers_max: 3, byte: 7 },
    400,
    'the body has more than 3 arrays and objects at byte 7',
  ],
  [{ code: 'invalid_cycle', unlisted: 0 }, 400, 'the body is not a valid cycle'],
  [
    { code: 'invalid_outcomes', unlisted: 1 },
    400,
    'the body does not list valid outcomes; 1 more problem is not listed',
  ],
  [{ code: 'undecodable_image', problem: 'no end' }, 400, 'the image cannot be decoded: no end'],
  [{ code: 'too_many_segments', segments_max: 3 }, 400, 'the image has more than 3 segments'],
  [
    { code: 'unknown_key' },
    401,
    'missing or unknown API key; send it as the whole Authorization header, without a scheme',
  ],
  [{ code: 'unknown_cycle', cycle_id: 'c' }, 404, 'there is no cycle c'],
  [
    { code: 'no_score', cycle_id: 'c', post: 'g/1', why: null },
    404,
    'the post cannot be explained: cycle c has no score of g/1: it was not pending',
  ],
  [
    { code: 'no_score', cycle_id: 'c', post: 'g/1', why: 'it had left' },
    404,
    'the post cannot be explained: cycle c has no score of g/1: it had left',
  ],
  [{ code: 'wrong_method', allow: 'PUT' }, 405, 'allowed methods: PUT'],
  [{ code: 'other_body', cycle_id: 'c' }, 409, 'cycle c is stored with a different body'],
  [
    { code: 'expired_cycle', cycle_id: 'c' },
    409,
    'cycle c has already been scored, and its record has expired',
  ],
  [{ code: 'large_body', bytes_max: 3 }, 413, 'the body is larger than 3 bytes'],
  [{ code: 'large_decompressed_body', bytes_max: 3 }, 413, 'the decompressed body is larger than 3 bytes'],
  [
    { code: 'large_image', width: 9, height: 8, megapixels_max: 3 },
    413,
    'the image is 9 x 8, more than 3 megapixels',
  ],
  [{ code: 'jpeg_type_expected' }, 415, 'Content-Type must be image/jpeg'],
  [
    { code: 'too_many_pending', unlisted: 2 },
    422,
    'the cycle is well-formed, but too many posts would be pending; 2 more problems are not listed',
  ],
  [{ code: 'internal' }, 500, 'internal error'],
  [{ code: 'no_model' }, 503, 'no model is loaded'],
]

test.each(refusals)('%o is %i: %s', (reason, status, message) => {
  const error = new ServiceError(reason)
  expect([error.status, error.toRecord().error]).toEqual([status, { code: error.code, message }])
  expect(error.allow).toBe(reason.code === 'wrong_method' ? reason.allow : undefined)
  expect(error.retryAfterS).toBe(status === 503 ? 5 : undefined)
})

test('each code has a status', () => {
  const codes = Object.keys(refusalSentences) as Refusal['code'][]
  const statuses = codes.map((code) => new ServiceError({ code } as Refusal).status)
  expect([...new Set(statuses)].sort()).toEqual([400, 401, 404, 405, 409, 413, 415, 422, 500, 503])
})

test('the problem of a call is its first field, or its sentence', () => {
  const reason: Refusal = { code: 'invalid_cycle', unlisted: 0 }
  const field = { path: 'engagement[3].views', problem: 'must not be negative' }
  expect(callProblemText({ reason, field })).toBe('engagement[3].views: must not be negative')
  expect(callProblemText({ reason, field: null })).toBe('the body is not a valid cycle')
})
