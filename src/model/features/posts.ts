/**
 * Features of a post other than its text: source, gallery, category, images.
 */
import { galleryTypeCodes, sourceCodes } from '../../contract/index.js'
import { imagesEncoded, imagesStored, post, textEncoded } from './columns.js'
import {
  atLeast,
  atMost,
  divide,
  equal,
  greater,
  signedLog1p,
  coalesce,
  present,
  subtract,
  where,
  type Expression,
} from './expression.js'
import { featureTable, named, type FeatureRow } from './feature.js'

const imagesDue = coalesce(post('imagesExpected'), post('imagesInPost'))
const imagesOutstanding = atLeast(subtract(imagesDue, imagesStored), 0)

export const postFeatures = featureTable([
  ...sourceCodes.map((source, code): FeatureRow => {
    return [
      `source_${source}`,
      `1 when source is ${source}, else 0`,
      null,
      equal(post('source'), code),
      named(`source_${source}`, 'flag'),
    ]
  }),
  ['manual_flag', 'manual_flag', null, equal(post('manualFlag'), 1), named('manual_flag', 'flag')],
  ...galleryTypeCodes.map((type, code): FeatureRow => {
    return [
      `gallery_${type}`,
      `1 when gallery_type is ${type}, else 0`,
      0,
      equal(post('galleryType'), code),
      named(`gallery_${type}`, 'flag'),
    ]
  }),
  [
    'category_present',
    '1 when there is a category_id, else 0',
    0,
    present(post('categoryId')),
    named('category_present', 'flag'),
  ],
  [
    'text_encoded',
    "1 when the model's text encoder has read the post, else 0",
    null,
    equal(textEncoded, 1),
    named('text_encoded', 'flag'),
  ],
])

export const imageFeatures = featureTable([
  [
    'images_in_post_log',
    'log(images_in_post)',
    null,
    signedLog1p(post('imagesInPost')),
    named('images_in_post', 'count', 1),
  ],
  [
    'images_any',
    '1 when images_in_post is above 0, else 0',
    null,
    greater(post('imagesInPost'), 0),
    named('images_any', 'flag'),
  ],
  [
    'images_expected_present',
    '1 when there are image_positions, else 0',
    0,
    present(post('imagesExpected')),
    named('images_expected_present', 'flag'),
  ],
  [
    'images_expected_log',
    'log(length of image_positions)',
    0,
    signedLog1p(post('imagesExpected')),
    named('images_expected', 'count', 1),
  ],
  [
    'images_stored_log',
    'log(images of the post that are stored)',
    null,
    signedLog1p(imagesStored),
    named('images_stored', 'count', 1),
  ],
  shareOfImages('stored', imagesStored),
  [
    'images_outstanding_log',
    'log(expected images that are not stored); images_in_post where image_positions is absent',
    null,
    signedLog1p(imagesOutstanding),
    named('images_outstanding', 'count', 1),
  ],
  [
    'images_encoded_log',
    "log(images of the post that the model's image encoder has read)",
    null,
    signedLog1p(imagesEncoded),
    named('images_encoded', 'count', 1),
  ],
  shareOfImages('encoded', imagesEncoded),
])

function shareOfImages(state: 'stored' | 'encoded', images: Expression): FeatureRow {
  const formula =
    `${state} images / expected ones, within 0 to 1; images_in_post where image_positions is absent; ` +
    '1 when none is due'
  const share = coalesce(atMost(divide(images, where(imagesDue, imagesDue)), 1), 1)
  return [`images_${state}_share`, formula, null, share, named(`images_${state}_share`, 'share')]
}
