/**
 * The dates of a certificate, and their log messages.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { dayMs, silentLog } from '../base/index.js'
import { scratchDir } from '../../test/helpers/servers.js'
import { makeTlsFiles, opensslMissing } from '../../test/helpers/tls-files.js'
import { dateProblem, datesOf, logDates } from './certificate-dates.js'

describe.skipIf(opensslMissing)('a certificate of one day', () => {
  const dates = datesOf(readFileSync(makeTlsFiles(scratchDir(), 'one-day').cert))
  const { validFrom, validTo } = dates

  test('has the dates in its file', () => {
    // OpenSSL reads the clock twice.
    expect(Math.abs(validTo - validFrom - dayMs)).toBeLessThanOrEqual(1000)
    expect(Math.abs(validFrom - Date.now())).toBeLessThan(dayMs / 24)
  })

  test('is valid from its first to its last second', () => {
    expect([validFrom, validTo].map((now) => dateProblem(dates, now))).toEqual([null, null])
    expect(dateProblem(dates, validFrom - 1)).toBe(`is not valid before ${new Date(validFrom).toISOString()}`)
    expect(dateProblem(dates, validTo + 1)).toBe(`expired at ${new Date(validTo).toISOString()}`)
  })

  test('is logged with its end date, and with a warning outside its dates', () => {
    const lines: unknown[] = []
    const note =
      (level: string) =>
      (...line: unknown[]): void =>
        void lines.push([level, ...line])
    const log = { ...silentLog, info: note('info'), warn: note('warn') }
    const fields = { valid_to: new Date(validTo).toISOString() }
    logDates(dates, validFrom, log)
    logDates(dates, validTo + 1, log)
    expect(lines).toEqual([
      ['info', fields, 'certificate loaded'],
      ['warn', fields, `the certificate expired at ${fields.valid_to}`],
    ])
  })
})
