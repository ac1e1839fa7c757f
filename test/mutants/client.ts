/** Mutants of src/client. */
import type { MutantGroup } from './mutant.js'

export const clientMutants: readonly MutantGroup[] = [
  {
    file: 'src/client/retry.ts',
    killedBy: ['src/client/retry.test.ts'],
    mutants: [
      { breaks: '504 is retried', find: '[408, 429, 502, 503, 504]', replace: '[408, 429, 502, 503]' },
      {
        breaks: 'the jitter is over the whole wait',
        find: 'return random * Math.min(backoffMsMax, backoffMsFirst * 2 ** Math.min(retryCount, 30))',
        replace:
          'return (0.5 + random / 2) * Math.min(backoffMsMax, backoffMsFirst * 2 ** Math.min(retryCount, 30))',
      },
      {
        breaks: 'the back-off has a maximum',
        find: 'return random * Math.min(backoffMsMax, backoffMsFirst * 2',
        replace: 'return random * (backoffMsFirst * 2',
      },
      {
        breaks: 'no attempt begins before Retry-After',
        find: 'askedMs + random * Math.min(backoffMsFirst, backoffMsMax)',
        replace: 'random * askedMs',
      },
      {
        breaks: 'Retry-After may be a date',
        find: 'Date.parse(value) - nowMs',
        replace: 'NaN',
      },
    ],
  },
  {
    file: 'src/client/client.ts',
    killedBy: ['src/client/client.test.ts'],
    mutants: [
      {
        breaks: 'if Retry-After is beyond the retry timeout, the call ends immediately',
        find: 'performance.now() + nextMs > giveUpAtMs',
        replace: 'performance.now() > giveUpAtMs',
      },
      { breaks: 'an attempt has a time limit', find: 'signal: attempt.signal,', replace: '' },
      { breaks: 'a redirect is not followed', find: "redirect: 'manual',", replace: '' },
      {
        breaks: 'only JSON is a result',
        find: '/^application\\/json\\b/i.test(type) ? parseJson',
        replace: 'type.length >= 0 ? parseJson',
      },
      {
        breaks: 'a response that ends early is no response',
        find: 'new Uint8Array(await response.arrayBuffer())',
        replace: 'new Uint8Array(await response.arrayBuffer().catch(() => new ArrayBuffer(0)))',
      },
    ],
  },
  {
    file: 'src/client/calls.ts',
    killedBy: ['src/client/client.test.ts'],
    mutants: [
      {
        breaks: 'all attempts send the same bytes of an image',
        find: 'const body = new Uint8Array(jpeg)',
        replace: 'const body = jpeg',
      },
    ],
  },
  {
    file: 'src/client/spool.ts',
    killedBy: ['src/client/spool.test.ts'],
    mutants: [
      {
        breaks: 'a cycle stays until its response has been handled',
        find: 'await onResponse(outcome)\n      await rm(path)',
        replace: 'await rm(path)\n      await onResponse(outcome)',
      },
      {
        breaks: 'a cycle that may have been processed is not replaced by another body',
        find: 'if (known !== undefined) throw',
        replace: 'if (known === null) throw',
      },
      {
        breaks: 'the oldest cycle is sent first',
        find: '?? []).sort()',
        replace: '?? []).sort().reverse()',
      },
      {
        breaks: 'the response to another cycle is not that of this one',
        find: 'if (outcome.cycle_id !== cycleId)',
        replace: 'if (outcome.cycle_id === null)',
      },
    ],
  },
]
