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
  log,
  orElse,
  present,
  subtract,
  where,
} from './expression.js'
import type { Feature } from './feature.js'

const imagesDue = orElse(post('imagesExpected'), post('imagesInPost'))

export const postFeatures: readonly Feature[] = [
  ...sourceCodes.map((source, code) => ({
    name: `source_${source}`,
    formula: `1 when source is ${source}, else 0`,
    missing: null,
    value: equal(post('source'), code),
  })),
  {
    name: 'manual_flag',
    formula: 'manual_flag',
    missing: null,
    value: equal(post('manualFlag'), 1),
  },
  ...galleryTypeCodes.map((type, code) => ({
    name: `gallery_${type}`,
    formula: `1 when gallery_type is ${type}, else 0`,
    missing: 0,
    value: equal(post('galleryType'), code),
  })),
  {
    name: 'category_present',
    formula: '1 when there is a category_id, else 0',
    missing: 0,
    value: present(post('categoryId')),
  },
  {
    name: 'text_encoded',
    formula: "1 when the model's text encoder has read the post, else 0",
    missing: null,
    value: equal(textEncoded, 1),
  },
]

export const imageFeatures: readonly Feature[] = [
  {
    name: 'images_in_post_log',
    formula: 'log(images_in_post)',
    missing: null,
    value: log(post('imagesInPost')),
  },
  {
    name: 'images_any',
    formula: '1 when images_in_post is above 0, else 0',
    missing: null,
    value: greater(post('imagesInPost'), 0),
  },
  {
    name: 'images_expected_present',
    formula: '1 when there are image_positions, else 0',
    missing: 0,
    value: present(post('imagesExpected')),
  },
  {
    name: 'images_expected_log',
    formula: 'log(length of image_positions)',
    missing: 0,
    value: log(post('imagesExpected')),
  },
  {
    name: 'images_stored_log',
    formula: 'log(images of the post that are stored)',
    missing: null,
    value: log(imagesStored),
  },
  {
    name: 'images_stored_share',
    formula:
      'stored images / expected ones, within 0 to 1; images_in_post where image_positions is absent; 1 when none is due',
    missing: null,
    value: orElse(atMost(divide(imagesStored, where(imagesDue, imagesDue)), 1), 1),
  },
  {
    name: 'images_outstanding_log',
    formula: 'log(expected images that are not stored); images_in_post where image_positions is absent',
    missing: null,
    value: log(atLeast(subtract(imagesDue, imagesStored), 0)),
  },
  {
    name: 'images_encoded_log',
    formula: "log(images of the post that the model's image encoder has read)",
    missing: null,
    value: log(imagesEncoded),
  },
  {
    name: 'images_encoded_share',
    formula:
      'encoded images / expected ones, within 0 to 1; images_in_post where image_positions is absent; 1 when none is due',
    missing: null,
    value: orElse(atMost(divide(imagesEncoded, where(imagesDue, imagesDue)), 1), 1),
  },
]
