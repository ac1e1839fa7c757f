/**
 * The texts of the OpenAPI document: the content of docs/contract.md, in the places where a reader of the document needs it.
 */
import type { ErrorKind } from '../errors.js'
import {
  gzipBodyBytesMax,
  headBytesMax,
  imageBytesMax,
  imageEdgePixelsMax,
  imagePixelsMax,
  imageSegmentsMax,
  jsonBodyBytesMax,
  jsonContainerCountMax,
  jsonDepthMax,
  pendingPostsMax,
} from '../limits.js'
import type { OperationId } from '../operations.js'
import { dateTimeCharsMax } from '../time.js'
import { nameCharsMax, noteCharsMax, rowCountMax } from '../wire.js'

const count = (value: number): string => value.toLocaleString('en-GB')
const mebibytes = (bytes: number): string => `${bytes / 1024 / 1024} MiB`

export const apiDescription = `
A client keeps a queue of posts. Every few minutes it sends a cycle: the posts that entered the queue, fresh counters of
every pending post, admin snapshots, and the posts that left. The response has a score for each pending post. The service
opens no connection of its own.

Every operation is idempotent. After a 503, a timeout or a lost connection, send the same bytes again: a call cannot be
applied twice.

**Limits**

| What | Limit | Beyond it |
| --- | --- | --- |
| JSON body | ${mebibytes(jsonBodyBytesMax)} after decompression, ${mebibytes(gzipBodyBytesMax)} of gzip on the wire | 413 |
| Rows of \`engagement\`, \`candidate_scores\`, \`removals\`, \`outcomes\` | ${count(rowCountMax)} each | 400 |
| Nesting of a JSON body; arrays and objects in it | ${count(jsonDepthMax)} levels; ${count(jsonContainerCountMax)} | 400 |
| \`gall_id\`, \`placement_id\`, \`reason_code\`, \`tier\` of an outcome, the \`version\` of weights; a \`note\` | ${count(nameCharsMax)} characters (Unicode code points); ${count(noteCharsMax)} | 400 |
| Pending posts | ${count(pendingPostsMax)} by default | 422 with the field \`candidates\`; nothing is stored |
| A timestamp | ${dateTimeCharsMax} characters | 400 |
| Image | ${mebibytes(imageBytesMax)}, ${count(imagePixelsMax)} pixels; a long edge above ${count(imageEdgePixelsMax)} px is scaled down | 413 |
| Segments and fill bytes of an image before its first scan | ${count(imageSegmentsMax)} | 400 |
| Head of a request, path included | ${headBytesMax / 1024} KiB | 431, and the connection is closed |
| Time for a body to arrive | 60 s by default | the connection is closed |
| Cycles that wait | 4 by default | 503 with \`Retry-After\` |

**HTTP.** HEAD is allowed wherever GET is. Another method on a known path returns 405 with \`Allow\`, an unknown path 404;
without a valid key both return 401. A response of at least 1,400 bytes is gzip if \`Accept-Encoding\` allows it. Send one
request at a time on a connection. Authentication, method and media type, size, syntax, shape and meaning are checked in
this order.
`.trim()

export const operationTexts: Readonly<
  Record<OperationId, { readonly tag: Tag; readonly summary: string; readonly description: string }>
> = {
  postCycle: {
    tag: 'Scoring',
    summary: 'Submit a cycle and receive its scores',
    description:
      'A 200 is durable: candidates, removals, readings and the response are on disk before its first byte is sent. ' +
      'The same `cycle_id` with the same body returns the stored response byte for byte, with a different body 409. ' +
      'Bodies are compared as JSON values: member order and white space do not matter. `cycle_time` must be on a ' +
      'five-minute boundary and not in the future, and `cycle_id` must be its minute in KST; otherwise the status is 422.',
  },
  getScores: {
    tag: 'Scoring',
    summary: 'Read the stored response of a cycle',
    description:
      'Returns the response of `POST /v1/cycles` byte for byte. Stored cycles expire after 14 days by default.',
  },
  putImage: {
    tag: 'Scoring',
    summary: 'Upload one image of a post',
    description:
      'The body is checked before the conflict. A position that holds other bytes keeps them. An image may arrive before ' +
      'its candidate.',
  },
  getHealth: {
    tag: 'Operation',
    summary: 'Status of the service',
    description:
      'Needs no key. `degraded` means that no model is loaded, the model failed the last cycle, an earlier version serves ' +
      'in the place of one that failed, storage refuses writes, the process is a standby, or it is shutting down. `ok` ' +
      'does not prove that cycles arrive: watch `last_cycle_received_at`.',
  },
  postOutcomes: {
    tag: 'Reference',
    summary: 'Report the outcomes of placed posts',
    description:
      'A record with a known `placement_id` replaces the stored one entirely, so send the complete record each time. ' +
      'Sending the same record again has no effect.',
  },
  getWeights: {
    tag: 'Reference',
    summary: 'Read the current and the previous weights',
    description: '`current` is the version that was set last, even before it takes effect.',
  },
  putWeights: {
    tag: 'Reference',
    summary: 'Set the weights that combine the heads',
    description:
      'The weights apply from `first_cycle_time`: the first five-minute boundary after both the current time and the ' +
      'newest stored cycle. A known `version` with the same weights is acknowledged again, with other weights it returns 409. ' +
      'If `views`, `comments` and `up` are all 0, the status is 422.',
  },
}

type Tag = keyof typeof tagTexts

export const tagTexts = {
  Scoring: 'The calls of the trial.',
  Operation: 'For monitoring.',
  Reference: 'Not in scope for the trial.',
} as const

export const errorTexts: Readonly<Record<ErrorKind, string>> = {
  bad_request:
    'The request is malformed: JSON syntax, gzip, a missing member, a wrong type, format or range, too many rows, an image ' +
    'that does not decode, a wrong hash, or an ambiguous length. `fields` lists up to 100 failing paths.',
  unauthorized: 'The API key is missing or unknown. Nothing else of the request was checked.',
  not_found: 'There is no such cycle.',
  method_not_allowed: 'The path exists, the method does not.',
  conflict:
    'The cycle id was used with another body, the position holds other bytes, or the version has other weights. For ' +
    'cycles and weights, `fields` lists the first 20 differences.',
  too_large: 'The body or the image is beyond its limit.',
  unsupported_media_type: 'The operation does not accept this `Content-Type` or `Content-Encoding`.',
  unprocessable: 'The body is well-formed, but its meaning is invalid. `fields` lists the members.',
  server_error: 'An internal error.',
  unavailable:
    'No model is loaded, storage refuses writes, the service is shutting down, or too many requests wait. Send the same ' +
    'call again after `Retry-After`.',
}
