/**
 * What is known of a post from its entry on, apart from its text: origin, gallery, category, images.
 */
import { galleryTypeCodes, sourceCodes } from '../../contract/index.js'
import { imagesStored, post } from './columns.js'
import type { Feature, Fill } from './feature.js'
import { equalFlag, logCount, positiveFlag, presentFlag } from './fills.js'
import { logOnePlus } from './count-log.js'

export const postFeatures: readonly Feature[] = [
  ...sourceCodes.map((source, code) => ({
    name: `source_${source}`,
    formula: `1 when source is ${source}, else 0`,
    missing: null,
    fill: equalFlag(post('source'), code),
  })),
  {
    name: 'manual_flag',
    formula: 'manual_flag',
    missing: null,
    fill: equalFlag(post('manualFlag'), 1),
  },
  ...galleryTypeCodes.map((type, code) => ({
    name: `gallery_${type}`,
    formula: `1 when gallery_type is ${type}, else 0`,
    missing: 0,
    fill: equalFlag(post('galleryType'), code),
  })),
  {
    name: 'category_present',
    formula: '1 when there is a category_id, else 0',
    missing: 0,
    fill: presentFlag(post('categoryId')),
  },
]

export const imageFeatures: readonly Feature[] = [
  {
    name: 'images_in_post_log',
    formula: 'log(images_in_post)',
    missing: null,
    fill: logCount(post('imagesInPost')),
  },
  {
    name: 'images_any',
    formula: '1 when images_in_post is above 0, else 0',
    missing: null,
    fill: positiveFlag(post('imagesInPost')),
  },
  {
    name: 'images_expected_present',
    formula: '1 when there are image_positions, else 0',
    missing: 0,
    fill: presentFlag(post('imagesExpected')),
  },
  {
    name: 'images_expected_log',
    formula: 'log(length of image_positions)',
    missing: 0,
    fill: logCount(post('imagesExpected')),
  },
  {
    name: 'images_stored_log',
    formula: 'log(images of the post that are stored)',
    missing: null,
    fill: logCount(imagesStored),
  },
  {
    name: 'images_stored_share',
    formula:
      'stored images / expected ones, within 0 to 1; images_in_post where image_positions is absent; 1 when none is due',
    missing: null,
    fill: fillStoredShare,
  },
  {
    name: 'images_outstanding_log',
    formula: 'log(expected images that are not stored); images_in_post where image_positions is absent',
    missing: null,
    fill: fillOutstanding,
  },
]

function fillStoredShare(...[inputs, out, first, stride]: Parameters<Fill>): void {
  for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
    const slot = inputs.slots[row] as number
    const due = imagesDue(inputs, slot)
    out[at] = due > 0 ? Math.min((inputs.imagesStored[slot] as number) / due, 1) : 1
  }
}

function fillOutstanding(...[inputs, out, first, stride]: Parameters<Fill>): void {
  for (let row = 0, at = first; row < inputs.count; row++, at += stride) {
    const slot = inputs.slots[row] as number
    const outstanding = imagesDue(inputs, slot) - (inputs.imagesStored[slot] as number)
    out[at] = outstanding > 0 ? logOnePlus(outstanding) : 0
  }
}

function imagesDue(inputs: Parameters<Fill>[0], slot: number): number {
  const expected = inputs.posts.imagesExpected[slot] as number
  return Number.isNaN(expected) ? (inputs.posts.imagesInPost[slot] as number) : expected
}
