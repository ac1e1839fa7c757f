/** When the next attempt begins: bounds of the back-off, Retry-After, and which failures are temporary. */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { defaultPolicy, isTemporaryError, isTemporaryStatus, wait, waitMsOf } from './retry.js'

const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const policy = fc.record({
  retryTimeoutMs: fc.nat(),
  attemptTimeoutMs: fc.nat(),
  backoffMsFirst: fc.nat(1e6),
  backoffMsMax: fc.nat(1e6),
})

test('a wait is within the back-off, which doubles up to its maximum', () => {
  fc.assert(
    fc.property(policy, fc.nat(100), share, (given, retryCount, random) => {
      const bound = Math.min(given.backoffMsMax, given.backoffMsFirst * 2 ** Math.min(retryCount, 30))
      const waitMs = waitMsOf(given, retryCount, null, random)
      expect(waitMs).toBeGreaterThanOrEqual(0)
      expect(waitMs).toBeLessThanOrEqual(bound)
      expect(waitMsOf(given, retryCount, null, 0)).toBe(0)
      expect(waitMsOf(given, retryCount, null, 1)).toBe(bound)
    }),
  )
})

test('no attempt begins before Retry-After, and the jitter after it is at most that of a first attempt', () => {
  fc.assert(
    fc.property(policy, fc.nat(100), share, fc.nat(100_000), (given, retryCount, random, seconds) => {
      const waitMs = waitMsOf(given, retryCount, String(seconds), random)
      expect(waitMs).toBeGreaterThanOrEqual(seconds * 1000)
      expect(waitMs).toBeLessThanOrEqual(seconds * 1000 + Math.min(given.backoffMsFirst, given.backoffMsMax))
    }),
  )
})

test.each([
  ['seconds', '7', 7000],
  ['a date', 'Mon, 02 Mar 2026 03:05:09 GMT', 9000],
  ['a date in the past', 'Mon, 02 Mar 2026 03:00:00 GMT', 0],
  ['more than a timer can wait', '9999999999', 2 ** 31 - 1],
])('Retry-After may be %s', (_what, value, expected) => {
  expect(waitMsOf(defaultPolicy, 0, value, 0, Date.parse('2026-03-02T03:05:00Z'))).toBe(expected)
})

test('a Retry-After that is neither seconds nor a date is ignored', () => {
  for (const value of ['soon', 'soon 1', '1.5', '-1', ''])
    expect(waitMsOf(defaultPolicy, 3, value, 1), value).toBe(8 * defaultPolicy.backoffMsFirst)
})

test('statuses of an overload, a restart or a proxy are temporary, and no others', () => {
  const all = Array.from({ length: 500 }, (_, index) => index + 100)
  expect(all.filter(isTemporaryStatus)).toEqual([408, 429, 502, 503, 504])
})

test.each([
  ['ECONNREFUSED', true],
  ['ECONNRESET', true],
  ['EAI_AGAIN', true],
  ['UND_ERR_SOCKET', true],
  ['HPE_INVALID_EOF_STATE', true],
  ['HPE_INVALID_CONSTANT', false],
  ['ENOTFOUND', false],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', false],
  ['CERT_HAS_EXPIRED', false],
  ['ERR_TLS_CERT_ALTNAME_INVALID', false],
])('whether waiting may help after %s: %s', (code, expected) => {
  const cause = Object.assign(new Error('x'), { code })
  expect(isTemporaryError(new TypeError('fetch failed', { cause }))).toBe(expected)
})

test('a failure without a code is temporary: browsers give no reasons', () => {
  expect(isTemporaryError(new TypeError('NetworkError when attempting to fetch resource.'))).toBe(true)
})

test('a signal ends a wait, also one that was aborted before', async () => {
  const stop = new AbortController()
  const waiting = wait(1e6, stop.signal)
  stop.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await expect(wait(1e6, stop.signal)).rejects.toThrow('enough')
})

test('a wait that has ended does not listen to its signal any longer', async () => {
  const { signal } = new AbortController()
  const [add, remove] = [vi.spyOn(signal, 'addEventListener'), vi.spyOn(signal, 'removeEventListener')]
  await wait(0, signal)
  const [name, listener] = add.mock.calls[0] ?? []
  expect(remove).toHaveBeenCalledWith(name, listener)
})
