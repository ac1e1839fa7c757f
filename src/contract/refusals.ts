/**
 * Why the service refuses a request, on either listener, and why stored cycles cannot be read: a code and its values, and the
 * English sentences, which are the messages of error responses. The page has the Korean ones.
 */
import type { ErrorKind } from './errors.js'
import { healthSentences } from './health.js'
import { sentenceOf, type FactOf, type Numbers, type Texts } from './sentences.js'
import type { FieldProblem } from './wire.js'

/** `fields` of the response lists the problems, up to a limit; `unlisted` is the number of the others. */
const withFields =
  (summary: string) =>
  ({ unlisted }: Numbers<'unlisted'>): string => {
    if (unlisted === 0) return summary
    return `${summary}; ${unlisted} more ${unlisted === 1 ? 'problem is' : 'problems are'} not listed`
  }

/** Each code has one kind of error response. In each kind, those of a client's calls come first. */
const byKind = {
  bad_request: {
    ambiguous_end: () => 'send one Content-Length or one Transfer-Encoding: chunked',
    disconnected: () => 'the client disconnected',
    body_timeout: () => 'timed out while receiving the request body',
    not_gzip: () => 'the body is not valid gzip',
    not_utf8: ({ byte }: Numbers<'byte'>) => `the body is not valid UTF-8 at byte ${byte}`,
    not_json: ({ byte }: Numbers<'byte'>) => `the body is not valid JSON at byte ${byte}`,
    json_ends_early: ({ byte }: Numbers<'byte'>) => `the body ends too early, at byte ${byte}`,
    json_too_deep: ({ levels_max, byte }: Numbers<'levels_max' | 'byte'>) =>
      `the body nests deeper than ${levels_max} levels at byte ${byte}`,
    too_many_containers: ({ containers_max, byte }: Numbers<'containers_max' | 'byte'>) =>
      `the body has more than ${containers_max} arrays and objects at byte ${byte}`,
    invalid_cycle: withFields('the body is not a valid cycle'),
    invalid_outcomes: withFields('the body does not list valid outcomes'),
    invalid_weights: withFields('the body is not a valid setting of weights'),
    invalid_image_path: withFields('the path or the hash is not valid'),
    image_hash_differs: withFields('the hash in the header differs from that of the image'),
    empty_image: () => 'the image is empty',
    undecodable_image: ({ problem }: Texts<'problem'>) => `the image cannot be decoded: ${problem}`,
    too_many_segments: ({ segments_max }: Numbers<'segments_max'>) =>
      `the image has more than ${segments_max} segments`,

    unreadable_form: () => 'the form cannot be read',
    unknown_list: () => 'list must be calls, other or stored',
    out_of_range: ({ name, min, max }: Texts<'name'> & Numbers<'min' | 'max'>) =>
      `${name} must be an integer from ${min} to ${max}`,
    no_cycle_id: ({ name }: Texts<'name'>) => `${name} must be a cycle_id`,
  },

  unauthorized: {
    unknown_key: () =>
      'missing or unknown API key; send it as the whole Authorization header, without a scheme',

    wrong_token: () => 'this is not the admin token',
    signed_out: () =>
      'the admin token is missing or wrong: open the address that the service prints at startup, or send ' +
      'Authorization: Bearer with the content of admin-token in the data directory',
  },

  not_found: {
    unknown_path: () => 'unknown path',
    invalid_cycle_id: () => 'there is no such cycle',
    unknown_cycle: ({ cycle_id }: Texts<'cycle_id'>) => `there is no cycle ${cycle_id}`,

    not_pending: () => 'this post is not pending',
    no_package: () => 'there is no such package',
    no_other_version: () => 'there is no other version to compare with',
    no_image: () => 'there is no such image',
    not_stored: () => 'the store has no such cycle',
    no_cycles: () => 'the data directory has no cycles',
    not_in_empty: ({ cycle_id }: Texts<'cycle_id'>) =>
      `the data directory has no cycle ${cycle_id}: it has no cycles`,
    not_in_directory: ({ cycle_id, first, last }: Texts<'cycle_id' | 'first' | 'last'>) =>
      `the data directory has no cycle ${cycle_id}: the first to arrive was ${first}, the last ${last}`,
    never_candidate: ({ post }: Texts<'post'>) => `no stored cycle has the post ${post} as a candidate`,
    no_score: ({ cycle_id, post, why }: Texts<'cycle_id' | 'post'> & { readonly why: string | null }) =>
      `the post cannot be explained: cycle ${cycle_id} has no score of ${post}: ${why ?? 'it was not pending'}`,
  },

  method_not_allowed: {
    /** `allow`: the value of the header `Allow`. */
    wrong_method: ({ allow }: Texts<'allow'>) => `allowed methods: ${allow}`,
  },

  conflict: {
    other_image: () => 'an image with this key already exists with different bytes',
    other_body: ({ cycle_id }: Texts<'cycle_id'>) => `cycle ${cycle_id} is stored with a different body`,
    expired_cycle: ({ cycle_id }: Texts<'cycle_id'>) =>
      `cycle ${cycle_id} has already been scored, and its record has expired`,
    other_weights: () => 'this version already exists with different weights',
  },

  too_large: {
    large_body: ({ bytes_max }: Numbers<'bytes_max'>) => `the body is larger than ${bytes_max} bytes`,
    large_decompressed_body: ({ bytes_max }: Numbers<'bytes_max'>) =>
      `the decompressed body is larger than ${bytes_max} bytes`,
    large_image: ({ width, height, megapixels_max }: Numbers<'width' | 'height' | 'megapixels_max'>) =>
      `the image is ${width} x ${height}, more than ${megapixels_max} megapixels`,
  },

  unsupported_media_type: {
    json_type_expected: () => 'Content-Type must be application/json, with a charset or without',
    jpeg_type_expected: () => 'Content-Type must be image/jpeg',
    unknown_encoding: () => 'Content-Encoding must be gzip or identity',
    encoded_image: () => 'Content-Encoding is not allowed for images',
    not_jpeg: () => 'the body is not a JPEG',
  },

  unprocessable: {
    wrong_times: withFields('the cycle is well-formed, but its times are wrong'),
    too_many_pending: withFields('the cycle is well-formed, but too many posts would be pending'),
    unusable_weights: () => 'the weights are not usable',
    too_many_weights: ({ settings_max }: Numbers<'settings_max'>) =>
      `weights have been set ${settings_max} times: no more can be stored`,
  },

  server_error: {
    internal: () => 'internal error',

    files_differ: ({ version }: Texts<'version'>) =>
      `the files of ${version} differ from those that a server has loaded as ${version}; rename the new package to ` +
      'another version',
    /** `problem`: a whole message, with what has failed. */
    history_failed: ({ problem }: Texts<'problem'>) => problem,
  },

  unavailable: {
    shutting_down: healthSentences.shutting_down,
    standby: () => 'this process is a standby; send the request again',
    no_model: healthSentences.no_model,
    model_failed: () => 'the model failed',
    storage_refuses: healthSentences.storage_refuses,
    storage_failed: () => 'the storage failed',
    storage_unreadable: () => 'the storage cannot be read',
    body_failed: () => 'the body could not be processed',
    image_timeout: () => 'image decoding timed out',
    too_many_bytes: () => 'too many bytes of bodies are held',
    too_many_cycles: () => 'too many cycles are queued',
    too_many_images: () => 'too many images are waiting to be checked',

    too_many_streams: () => 'too many event streams are open',
    too_many_requests: () => 'too many requests for stored cycles',
    too_many_reports: () => 'too many reports are in progress',
    abandoned: () => 'no client waits for the result',
    stopping: () => 'the service is stopping',
  },
} satisfies Record<ErrorKind, object>

export const refusalSentences = {
  ...byKind.bad_request,
  ...byKind.unauthorized,
  ...byKind.not_found,
  ...byKind.method_not_allowed,
  ...byKind.conflict,
  ...byKind.too_large,
  ...byKind.unsupported_media_type,
  ...byKind.unprocessable,
  ...byKind.server_error,
  ...byKind.unavailable,
}

export type Refusal = FactOf<typeof refusalSentences>

export function refusalText(refusal: Refusal): string {
  return sentenceOf(refusal, refusalSentences)
}

const kinds = new Map(
  Object.entries(byKind).flatMap(([kind, sentences]) =>
    Object.keys(sentences).map((code) => [code, kind as ErrorKind]),
  ),
)

export function refusalKind({ code }: Refusal): ErrorKind {
  return kinds.get(code)!
}

/** Why a call of a client failed. `field`: the first that is wrong, without what is the client's own. */
export interface CallProblem {
  readonly reason: Refusal
  readonly field: FieldProblem | null
}

/** The problem on one line. */
export function callProblemText({ reason, field }: CallProblem, sentences = refusalSentences): string {
  return field === null ? sentenceOf(reason, sentences) : `${field.path}: ${field.problem}`
}
