/**
 * Why the admin listener refuses a request, and why stored cycles cannot be read: a code and its values, and the English
 * sentences. The page has the Korean ones.
 */
import { sentenceOf, type FactOf, type Numbers, type Texts } from './sentences.js'

export const refusalSentences = {
  unknown_path: () => 'unknown path',
  read_only: () => 'allowed methods: GET, HEAD',
  wrong_token: () => 'this is not the admin token',
  signed_out: () =>
    'the admin token is missing or wrong: open the address that the service prints at startup, or send ' +
    'Authorization: Bearer with the content of admin-token in the data directory',
  unreadable_form: () => 'the form cannot be read',
  too_many_streams: () => 'too many event streams are open',
  too_many_requests: () => 'too many requests for stored cycles',
  too_many_reports: () => 'too many reports are in progress',
  abandoned: () => 'no client waits for the result',
  stopping: () => 'the service is stopping',
  internal: () => 'internal error',

  not_pending: () => 'this post is not pending',
  no_package: () => 'there is no such package',
  no_other_version: () => 'there is no other version to compare with',
  no_image: () => 'there is no such image',
  not_stored: () => 'the store has no such cycle',
  unknown_list: () => 'list must be calls, other or stored',
  out_of_range: ({ name, min, max }: Texts<'name'> & Numbers<'min' | 'max'>) =>
    `${name} must be an integer from ${min} to ${max}`,
  no_cycle_id: ({ name }: Texts<'name'>) => `${name} must be a cycle_id`,

  no_cycles: () => 'the data directory has no cycles',
  not_in_empty: ({ cycle_id }: Texts<'cycle_id'>) =>
    `the data directory has no cycle ${cycle_id}: it has no cycles`,
  not_in_directory: ({ cycle_id, first, last }: Texts<'cycle_id' | 'first' | 'last'>) =>
    `the data directory has no cycle ${cycle_id}: the first to arrive was ${first}, the last ${last}`,
  never_candidate: ({ post }: Texts<'post'>) => `no stored cycle has the post ${post} as a candidate`,
  no_score: ({ cycle_id, post, why }: Texts<'cycle_id' | 'post'> & { readonly why: string | null }) =>
    `the post cannot be explained: cycle ${cycle_id} has no score of ${post}: ${why ?? 'it was not pending'}`,
  files_differ: ({ version }: Texts<'version'>) =>
    `the files of ${version} differ from those that a server has loaded as ${version}; rename the new package to ` +
    'another version',
}

export type Refusal = FactOf<typeof refusalSentences>

export function refusalText(refusal: Refusal): string {
  return sentenceOf(refusal, refusalSentences)
}
