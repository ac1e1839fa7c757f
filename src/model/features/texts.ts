/**
 * Features of titles and bodies for Korean text: shares of scripts, single jamo (ㅠㅠ) and laughter (ㅋㅋ).
 */
import type { TextMeasureName } from '../../contract/index.js'
import { bodyMeasure, post, titleMeasure } from './columns.js'
import { equal, log, type Expression } from './expression.js'
import type { Feature } from './feature.js'
import { ratio } from './shared.js'

type Text = 'title' | 'body'

export const titleFeatures: readonly Feature[] = [
  count('title', 'chars'),
  count('title', 'words'),
  count('title', 'questions'),
  count('title', 'exclamations'),
  share('title', 'hangul'),
  share('title', 'jamo'),
  share('title', 'laughs'),
  share('title', 'latin'),
  share('title', 'digits'),
  share('title', 'han'),
  share('title', 'spaces'),
  share('title', 'punctuation'),
  share('title', 'emoji'),
]

export const bodyFeatures: readonly Feature[] = [
  {
    name: 'body_present',
    formula: '1 when there is a body_html, else 0',
    missing: 0,
    value: equal(post('bodyPresent'), 1),
  },
  count('body', 'chars'),
  count('body', 'words'),
  count('body', 'questions'),
  count('body', 'exclamations'),
  count('body', 'tags'),
  count('body', 'images'),
  count('body', 'links'),
  share('body', 'hangul'),
  share('body', 'jamo'),
  share('body', 'laughs'),
  share('body', 'latin'),
  share('body', 'digits'),
  share('body', 'punctuation'),
  share('body', 'emoji'),
]

function count(text: Text, measure: TextMeasureName): Feature {
  return {
    name: `${text}_${measure}_log`,
    formula: `log(${measure} of the ${text})`,
    missing: missingOf(text),
    value: log(measureOf(text, measure)),
  }
}

function share(text: Text, measure: TextMeasureName): Feature {
  return {
    name: `${text}_${measure}_share`,
    formula: `${measure} / chars of the ${text}, 0 for an empty one`,
    missing: missingOf(text),
    value: ratio(measureOf(text, measure), measureOf(text, 'chars'), 1),
  }
}

function measureOf(text: Text, measure: TextMeasureName): Expression {
  return text === 'title' ? titleMeasure(measure) : bodyMeasure(measure)
}

/** A title is always present; an absent body counts as an empty one, and `body_present` tells them apart. */
function missingOf(text: Text): number | null {
  return text === 'title' ? null : 0
}
