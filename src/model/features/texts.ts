/**
 * Features of titles and bodies for Korean text: shares of scripts, single jamo (ㅠㅠ) and laughter (ㅋㅋ).
 */
import type { MeasureWord } from '../../contract/index.js'
import { bodyMeasure, post, titleMeasure } from './columns.js'
import { equal, signedLog1p } from './expression.js'
import { featureTable, named, type FeatureRow } from './feature.js'
import { ratio } from './shared.js'

/** An absent body counts as an empty one, and `body_present` distinguishes them; a title is always present. */
const texts = {
  title: { measure: titleMeasure, missing: null },
  body: { measure: bodyMeasure, missing: 0 },
} as const
type Text = keyof typeof texts

export const titleFeatures = featureTable([
  ...counts('title', ['chars', 'words', 'questions', 'exclamations']),
  ...shares('title', ['hangul', 'jamo', 'laughs', 'latin', 'digits']),
  ...shares('title', ['han', 'spaces', 'punctuation', 'emoji']),
])

export const bodyFeatures = featureTable([
  [
    'body_present',
    '1 when there is a body_html, else 0',
    0,
    equal(post('bodyPresent'), 1),
    named('body_present', 'flag'),
  ],
  ...counts('body', ['chars', 'words', 'questions', 'exclamations', 'tags', 'images', 'links']),
  ...shares('body', ['hangul', 'jamo', 'laughs', 'latin', 'digits', 'punctuation', 'emoji']),
])

function counts(text: Text, names: readonly MeasureWord[]): FeatureRow[] {
  const { measure, missing } = texts[text]
  return names.map((name) => [
    `${text}_${name}_log`,
    `log(${name} of the ${text})`,
    missing,
    signedLog1p(measure(name)),
    { form: 'textCount', text, of: name, unit: 'count', logs: 1 },
  ])
}

function shares(text: Text, names: readonly MeasureWord[]): FeatureRow[] {
  const { measure, missing } = texts[text]
  return names.map((name) => [
    `${text}_${name}_share`,
    `${name} / chars of the ${text}, 0 for an empty one`,
    missing,
    ratio(measure(name), measure('chars'), 1),
    { form: 'textShare', text, of: name, unit: 'share', logs: 0 },
  ])
}
