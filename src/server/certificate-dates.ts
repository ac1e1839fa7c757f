/**
 * The validity of a certificate. BoringSSL serves a certificate that is not valid without an error, and clients then refuse
 * the connection; so the server checks and logs the dates.
 */
import { X509Certificate } from 'node:crypto'
import type { Log } from '../base/index.js'

/** Milliseconds since 1970; both ends are inclusive. */
export interface CertificateDates {
  readonly validFrom: number
  readonly validTo: number
}

/** The dates of the first certificate in a PEM file: the server's own, before its chain. */
export function datesOf(pem: Buffer): CertificateDates {
  const { validFrom, validTo } = new X509Certificate(pem)
  return { validFrom: Date.parse(validFrom), validTo: Date.parse(validTo) }
}

/** What is wrong with the dates at `now`, or null. */
export function dateProblem({ validFrom, validTo }: CertificateDates, now: number): string | null {
  if (now > validTo) return `expired at ${isoTime(validTo)}`
  if (now < validFrom) return `is not valid before ${isoTime(validFrom)}`
  return null
}

/** Logs the dates at startup. A certificate that is not valid is a warning only: some clients do not check dates. */
export function logDates(dates: CertificateDates, now: number, log: Log): void {
  const problem = dateProblem(dates, now)
  const fields = { valid_to: isoTime(dates.validTo) }
  if (problem === null) log.info(fields, 'certificate loaded')
  else log.warn(fields, `the certificate ${problem}`)
}

export function isoTime(instant: number): string {
  return new Date(instant).toISOString()
}
