/**
 * Reasons of health checks: a code and its values in the service, the admin API and the page; at the edges a sentence, with or
 * without its details, which are a member `problem` in English. The English sentences are here, the Korean ones in the page.
 */
import { sentenceOf, type FactOf, type Numbers, type Texts } from './sentences.js'

/** A sentence without a value, whose details are the problem. */
function alone(sentence: string): (reason: Texts<'problem'>) => string {
  return () => sentence
}

export const healthSentences = {
  accepts_requests: () => 'the service accepts requests',
  shutting_down: () => 'the service is shutting down',
  standby: () => 'this process is a standby of its environment',

  model_serves: () => 'a model serves',
  no_model: () => 'no model is loaded',
  /** `problem` is the message of the model, with the cycle. */
  model_fails: ({ cycles }: Texts<'problem'> & Numbers<'cycles'>) =>
    cycles === 1 ? 'the model failed the last cycle' : `the model failed the last ${cycles} cycles`,
  model_replaced: ({ version, failed }: Texts<'version' | 'failed' | 'problem'>) =>
    `${version} serves instead of ${failed} until ACTIVE changes`,
  model_stands_in: ({ version, failed }: Texts<'version' | 'failed' | 'problem'>) =>
    `${version} serves until ${failed} can be loaded`,
  active_unreadable: alone('the version that is to serve is not known'),
  version_not_loaded: ({ version }: Texts<'version' | 'problem'>) => `${version} failed to load`,

  storage_writable: () => 'storage accepts writes',
  storage_refuses: () => 'storage refuses writes',
  journal_fails: alone('the journal cannot be used'),
  no_synchronous_standby: () =>
    'PostgreSQL has no synchronous standby: if its disk fails, acknowledged cycles are lost',
  journal_state: ({ role, epoch, entry }: Texts<'role'> & Numbers<'epoch' | 'entry'>) =>
    `${role} of the environment, epoch ${epoch}, entry ${entry}`,

  no_cycle: () => 'no cycle has arrived yet',
  last_cycle: ({ cycle_id, age_s }: Texts<'cycle_id'> & Numbers<'age_s'>) =>
    `cycle ${cycle_id} arrived ${age_s} s ago`,
  /** `cycles` is the number in the last hour; `cycle_id` and `ahead_s` are of the last one. */
  clocks_differ: ({ cycles, cycle_id, ahead_s }: Texts<'cycle_id'> & Numbers<'cycles' | 'ahead_s'>) =>
    `${cycles === 1 ? 'a cycle was' : `${cycles} cycles were`} refused in the last hour because cycle_time is in the ` +
    `future, the last one ${cycle_id} by ${ahead_s} s: the clocks of client and service differ`,

  disk_silent: () => 'the disk of the data directory does not respond',
  disk_free: ({ free_mib }: Numbers<'free_mib'>) =>
    `${free_mib} MiB are free on the disk of the data directory`,
}

type Sentences = typeof healthSentences
export type HealthReason = FactOf<Sentences>

/** With the details of each reason. */
export function reasonsText(reasons: readonly HealthReason[], sentences = healthSentences): string {
  return reasons
    .map((reason) => sentenceOf(reason, sentences) + ('problem' in reason ? `: ${reason.problem}` : ''))
    .join('; ')
}

/** For where another place has the details. */
export function reasonsInShort(reasons: readonly HealthReason[], sentences = healthSentences): string {
  return reasons.map((reason) => sentenceOf(reason, sentences)).join('; ')
}
