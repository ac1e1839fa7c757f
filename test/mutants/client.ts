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
    killedBy: ['src/client/client.test.ts', 'src/client/verdicts.test.ts'],
    mutants: [
      {
        breaks: 'if Retry-After is beyond the retry timeout, the call ends immediately',
        find: 'performance.now() + nextMs > giveUpAtMs',
        replace: 'performance.now() > giveUpAtMs',
      },
      { breaks: 'an attempt has a time limit', find: 'signal: attempt.signal,', replace: '' },
      { breaks: 'a redirect is not followed', find: "redirect: 'manual',", replace: '' },
      {
        breaks: 'a response that ends early is no response',
        find: 'await readBody(response, bytesMax)',
        replace: 'await readBody(response, bytesMax).catch(() => new Uint8Array())',
      },
      {
        breaks: 'a response has a size limit',
        find: 'if (bytes > bytesMax)',
        replace: 'if (bytes < 0)',
      },
      {
        breaks: 'a refusal for the future is temporary',
        find: 'return mayBeRefusal && isFutureRefusal(errorOf(call, reply))',
        replace: 'return false',
      },
      {
        breaks: 'the response to another cycle is not that of this one',
        find: 'if (cycleId !== null && response.cycle_id !== cycleId)',
        replace: 'if (cycleId === null)',
      },
      {
        breaks: 'a page of a gateway with status 404 says nothing about scores',
        find: 'hasJsonType(reply) && (reply.status === 200',
        replace: '(reply.status === 200',
      },
    ],
  },
  {
    file: 'src/client/errors.ts',
    killedBy: ['src/client/verdicts.test.ts'],
    mutants: [
      {
        breaks: 'only JSON is a result or an error record',
        find: 'return hasJsonType(reply) ? parseJson(reply.body) : undefined',
        replace: 'return parseJson(reply.body)',
      },
      {
        breaks: 'an error record has the code of its status',
        find: 'errorTable[kind].status === status && errorTable[kind].code === code',
        replace: 'errorTable[kind].status === status',
      },
      {
        breaks: 'the fields of an error record have a path and a problem',
        find: 'fields.every(isFieldProblem)',
        replace: 'fields.length >= 0',
      },
      {
        breaks: 'a refusal for another reason too is final',
        find: 'others.length === 0 && field',
        replace: 'field',
      },
    ],
  },
  {
    file: 'src/client/response-shape.ts',
    killedBy: ['src/client/response-shape.test.ts'],
    mutants: [
      {
        breaks: 'a row has a score if, and only if, it is scored',
        find: "(status === 'scored') === (score !== null)",
        replace: "status !== 'scored' || score !== null",
      },
      {
        breaks: 'a response has as many rows as its counts say',
        find: 'counts.results === results.length',
        replace: 'counts.results >= results.length',
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
        find: 'await onResponse(outcome)\n      await this.#directory.remove(cycleId)',
        replace: 'await this.#directory.remove(cycleId)\n      await onResponse(outcome)',
      },
      {
        breaks: 'a cycle that may have been processed is not replaced by another body',
        find: 'if (known !== json) throw',
        replace: 'if (known === json) throw',
      },
      {
        breaks: 'a refusal for the future does not reject a cycle',
        find: 'if (!isFutureRefusal(error)) return',
        replace: 'if (error instanceof Error) return',
      },
      {
        breaks: 'a cycle of a clock that was set back is not kept for ever',
        find: 'Math.abs(await this.#directory.ageMs(cycleId))',
        replace: '(await this.#directory.ageMs(cycleId))',
      },
    ],
  },
  {
    file: 'src/client/spool-directory.ts',
    killedBy: ['src/client/spool.test.ts', 'src/client/spool-faults.test.ts'],
    mutants: [
      {
        breaks: 'the oldest cycle is sent first',
        find: '?? []).sort()',
        replace: '?? []).sort().reverse()',
      },
      {
        breaks: 'a file that contains another cycle is set aside',
        find: 'if (found.cycleId === cycleId) return found.json',
        replace: 'if (found.cycleId !== null) return found.json',
      },
      {
        breaks: 'what is not a regular file is set aside',
        find: 'if (!(await lstat(path)).isFile()) return',
        replace: 'if (!(await lstat(path)).isDirectory() && path === name) return',
      },
      {
        breaks: 'a write that fails leaves no file',
        find: 'await rm(partial, { force: true }).catch(() => undefined)',
        replace: '',
      },
      {
        breaks: 'no file is overwritten by one that is set aside',
        find: 'names.has(target); number++',
        replace: 'number < 2; number++',
      },
      {
        breaks: 'a directory is locked until its last spool is closed',
        find: '--entry.userCount > 0',
        replace: 'entry.userCount < 0',
      },
    ],
  },
]
