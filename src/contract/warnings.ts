/**
 * Warnings of a response: a code inside the service, on the page and as a label of metrics, a sentence on the wire. One warning
 * per kind, with its count and the first few posts that it concerns.
 */

/** The sentence of each code on the wire. */
export const warningSentences = {
  candidate_changed: 'candidate sent again with another record, the first one stays',
  removal_not_pending: 'removal of a post that is not pending',
  duplicate_engagement: 'more than one engagement row, the latest counts',
  duplicate_candidate_scores: 'more than one candidate_scores row, the latest counts',
  engagement_of_removed_post: 'engagement of a removed post, left out',
  text_not_encoded: 'text not encoded in time, scored without it',
  text_not_encodable: 'text that the encoder cannot encode, scored without it',
  images_not_encoded: 'expected images not all encoded, scored without them',
  unknown_field: 'unknown field',
  late_cycle: 'late cycle',
  transport_test: 'transport test',
}

export type WarningCode = keyof typeof warningSentences
export const warningCodes = Object.keys(warningSentences) as readonly WarningCode[]

export interface Warning {
  readonly code: WarningCode
  /** Posts that it concerns; null if it is about something else. */
  readonly count: number | null
  readonly detail: string
}

/** The line of a warning in `warnings` of a response. */
export function warningText(warning: Warning): string {
  return warningLine(warning, warningSentences)
}

/** In the language of the sentences. */
export function warningLine(
  { code, count, detail }: Warning,
  sentences: Record<WarningCode, string>,
): string {
  return `${sentences[code]}${count === null ? '' : ` (${count})`}: ${detail}`
}
