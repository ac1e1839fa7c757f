/** Enum codes are stored on disk: their order must never change, whatever order typia lists them in. */
import { expect, test } from 'vitest'
import {
  engagementStatusCodes,
  galleryTypeCodes,
  outcomeCodes,
  removalReasonCodes,
  sourceCodes,
  tierCodes,
} from './index.js'

test('enum codes are those of existing data directories', () => {
  expect({
    sourceCodes,
    galleryTypeCodes,
    engagementStatusCodes,
    removalReasonCodes,
    tierCodes,
    outcomes: outcomeCodes.length,
  }).toEqual({
    sourceCodes: ['keyword', 'manual', 'score', 'setting', 'unknown', 'vote'],
    galleryTypeCodes: ['main', 'mini', 'minor'],
    engagementStatusCodes: ['missing', 'nomap', 'ok'],
    removalReasonCodes: ['aged_out', 'deleted', 'hidden', 'saved'],
    tierCodes: ['app', 'light', 'main', 'night'],
    outcomes: 6,
  })
})
