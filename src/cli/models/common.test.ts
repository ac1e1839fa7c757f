import { expect, test } from 'vitest'
import { readSettings } from '../settings/read-settings.js'
import { historySettingNames, sessionSettingNames } from '../../history/index.js'
import { loadOptions } from './common.js'

test('a command loads a model with the limits of the server, and has a flag for each of them', () => {
  const env = {
    UNDERSTUDY_PREDICT_MS_MAX: '1234',
    UNDERSTUDY_MODEL_LATENCY_MS_MAX: '567',
    UNDERSTUDY_MODEL_PROCESS_BYTES_MAX: String(2 ** 30),
  }
  const { settings } = readSettings({ env, flags: {}, directory: '.' })
  expect(loadOptions('v1', settings, { printMessage: () => undefined })).toMatchObject({
    timeLimitMs: 1234,
    latencyMsMax: 567,
    processBytesMax: 2 ** 30,
  })
  for (const names of [sessionSettingNames, historySettingNames])
    expect(names).toEqual(
      expect.arrayContaining(['predictMsMax', 'modelLatencyMsMax', 'modelProcessBytesMax']),
    )
})
