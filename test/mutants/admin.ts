/** Mutants of src/admin. */
import type { MutantGroup } from './mutant.js'

export const adminMutants: readonly MutantGroup[] = [
  {
    file: 'src/admin/listener.ts',
    killedBy: ['src/admin/listener.test.ts'],
    mutants: [
      {
        breaks: 'a response to a client that has left does not count as unread',
        find: 'if (response.destroyed) return',
        replace: '',
      },
      {
        breaks: 'the form of another site signs nobody in',
        find: 'new URL(origin).host !== host.toLowerCase()',
        replace: "new URL(origin).host === ''",
      },
      {
        breaks: 'a client that is refused holds no connection',
        find: 'new Set([401, 421, 503])',
        replace: 'new Set()',
      },
      {
        breaks: 'the form is bounded',
        find: 'return text.length > formBytesMax',
        replace: 'return text.length > Infinity',
      },
      {
        breaks: 'an image is not compressed',
        find: 'if (!isSuitable || reply',
        replace: 'if (reply',
      },
      {
        breaks: 'two responses at a time are compressed',
        find: 'this.#compressionCount >= compressionsMax',
        replace: 'this.#compressionCount < 0',
      },
      {
        breaks: 'a TLS handshake has a time limit',
        find: 'options.handshakeMsMax ?? requestMsMax',
        replace: 'requestMsMax * 100',
      },
    ],
  },
  {
    file: 'src/admin/score-tracks.ts',
    killedBy: ['src/admin/observer.test.ts'],
    mutants: [
      {
        breaks: 'a late cycle does not replace the newest scores',
        find: 'Date.parse(cycleTime) <= time) + 1',
        replace: 'Date.parse(cycleTime) <= Infinity) + 1',
      },
      {
        breaks: 'rank 1 is the highest score',
        find: '{ rank: of - low + 1, of }',
        replace: '{ rank: low, of }',
      },
    ],
  },
  {
    file: 'src/admin/access.ts',
    killedBy: ['src/admin/access.test.ts'],
    mutants: [
      {
        breaks: 'a name that only begins like an IP address is refused',
        find: "isIP(name.replace(/^\\[(.*)\\]$/, '$1')) !== 0",
        replace: '/^[0-9.]+/.test(name)',
      },
      {
        breaks: 'the cookie is not the token',
        find: 'this.#sessionDigest = digestOf(this.#session)',
        replace: 'this.#sessionDigest = digestOf(options.token)',
      },
      { breaks: 'scripts cannot read the cookie', find: 'Path=/; HttpOnly;', replace: 'Path=/;' },
      {
        breaks: 'the cookie is secure under TLS',
        find: "this.#options.isTls ? '; Secure' : ''",
        replace: "this.#options.isTls ? '' : ''",
      },
    ],
  },
  {
    file: 'src/admin/routes.ts',
    killedBy: ['src/admin/access.test.ts'],
    mutants: [
      {
        breaks: 'a parameter that is not valid percent-encoding has no route',
        find: 'parameters.includes(undefined) ? null :',
        replace: 'parameters.length > 9 ? null :',
      },
      {
        breaks: 'what waits is bounded',
        find: 'new Semaphore(activeMax, { waitingMax, refusal })',
        replace: 'new Semaphore(activeMax, { waitingMax: waitingMax + 1, refusal })',
      },
      {
        breaks: 'a request whose client has disconnected neither waits nor starts',
        find: 'semaphore.run(work, gone)',
        replace: 'semaphore.run(work)',
      },
      {
        breaks: 'a parameter is not empty',
        find: " || match.parameters.includes('')",
        replace: '',
      },
    ],
  },
  {
    file: 'src/admin/event-streams.ts',
    killedBy: ['src/admin/event-streams.test.ts'],
    mutants: [
      {
        breaks: 'a slow reader is closed',
        find: 'if (response.writableLength <= unreadBytesMax) return',
        replace: 'if (response.writableLength >= 0) return',
      },
      {
        breaks: 'the number of streams is bounded',
        find: 'this.#streams.size >= streamCountMax',
        replace: 'this.#streams.size > streamCountMax',
      },
      {
        breaks: 'waiting events are bounded',
        find: 'this.#waiting.length >= waitingCountMax',
        replace: 'this.#waiting.length < 0',
      },
    ],
  },
  {
    file: 'src/admin/history-replies.ts',
    killedBy: ['src/admin/history-replies.test.ts'],
    mutants: [
      {
        breaks: 'one command runs at a time',
        find: 'await this.#turn\n',
        replace: '',
      },
      {
        breaks: 'a command ends when its last client has disconnected',
        find: 'if (result.waitingCount + result.repeatingCount > 0) return',
        replace: 'if (result.waitingCount + result.repeatingCount >= 0) return',
      },
      {
        breaks: 'a command goes on while another client waits for it',
        find: 'if (result.waitingCount + result.repeatingCount > 0) return',
        replace: 'if (result.repeatingCount > 0) return',
      },
      {
        breaks: 'a command goes on while a client that has received 202 may repeat its request',
        find: 'if (result.waitingCount + result.repeatingCount > 0) return',
        replace: 'if (result.waitingCount > 0) return',
      },
      {
        breaks: 'a client that has received 202 and does not come back is forgotten',
        find: 'result.repeatingCount = 0\n',
        replace: '\n',
      },
      {
        breaks: 'an output is stale when a cycle has been stored',
        find: 'ended.lastCycleId === lastCycleId() && ',
        replace: '',
      },
      {
        breaks: 'an output is stale after a minute',
        find: ' && clock() - ended.at < freshMsMax',
        replace: '',
      },
      {
        breaks: 'a command has the lowest priority',
        find: 'constants.priority.PRIORITY_LOW',
        replace: 'constants.priority.PRIORITY_NORMAL',
      },
      {
        breaks: 'the output of a command is bounded',
        find: '{ runMsMax, outputBytesMax }, (end)',
        replace: '{ runMsMax, outputBytesMax: Infinity }, (end)',
      },
      {
        breaks: 'the commands that wait are bounded',
        find: 'unfinished.length > waitingCountMax',
        replace: 'unfinished.length > 99',
      },
      {
        breaks: 'a command does not start after the end of the service',
        find: 'if (this.#isClosed) throw',
        replace: 'if (request.kind.length > 99) throw',
      },
      {
        breaks: 'the memory of a command is bounded',
        find: 'watchMemory(pid, memoryBytesMax,',
        replace: 'watchMemory(pid, Infinity,',
      },
      {
        breaks: 'the end of the service ends the command that runs',
        find: "    this.#running?.kill('SIGKILL')\n",
        replace: '',
      },
    ],
  },
  {
    file: 'src/admin/first-scores.ts',
    killedBy: ['src/admin/observer.test.ts'],
    mutants: [
      {
        breaks: 'a post whose deadline has passed is overdue',
        find: 'deadlineMs < newestCycleMs',
        replace: 'deadlineMs > newestCycleMs',
      },
    ],
  },
  {
    file: 'src/admin/checks.ts',
    killedBy: ['src/admin/checks.test.ts'],
    mutants: [
      {
        breaks: 'a disk that hangs delays a caller by a second',
        find: 'Promise.race([this.#reading, late])',
        replace: 'this.#reading',
      },
      {
        breaks: 'one read waits for a disk that hangs',
        find: 'this.#reading ??= this.#readOnce()',
        replace: 'this.#reading = this.#readOnce()',
      },
    ],
  },
  {
    file: 'src/admin/metrics/table.ts',
    killedBy: ['src/admin/metrics/table.test.ts'],
    mutants: [
      {
        breaks: 'an unknown status is not a client that disconnected',
        find: "?? 'other'\n",
        replace: "?? 'aborted'\n",
      },
    ],
  },
  {
    file: 'src/admin/tracing.ts',
    killedBy: ['src/admin/tracing.test.ts'],
    mutants: [
      {
        breaks: 'the span of the client is the parent',
        find: 'if (parent === null) return ROOT_CONTEXT',
        replace: 'if (parent !== null) return ROOT_CONTEXT',
      },
      {
        breaks: 'a span has the times of the request',
        find: 'span.end(epochMs(endedAt))',
        replace: 'span.end(epochMs(startedAt))',
      },
    ],
  },
  {
    file: 'src/contract/time.ts',
    killedBy: ['src/admin/observer.test.ts'],
    mutants: [
      {
        breaks: 'the deadline of a first score is the second boundary',
        find: 'Math.ceil(extractedMs / cycleBoundaryMs) + 1',
        replace: 'Math.ceil(extractedMs / cycleBoundaryMs) + 2',
      },
    ],
  },
  {
    file: 'src/admin/observer.ts',
    killedBy: ['src/admin/observer.test.ts'],
    mutants: [
      {
        breaks: 'calls of other operations that succeed are not recorded',
        find: "if (isCycle || result !== 'done') {",
        replace: 'if (isCycle || result.length > 0) {',
      },
      {
        breaks: 'a request without a key is not a call of the client',
        find: ' && code !== unauthorizedCode',
        replace: '',
      },
      {
        breaks: 'only the newest saves of a cycle are looked up',
        find: 'savedRows.slice(-saveCountMax)',
        replace: 'savedRows.slice(0, saveCountMax)',
      },
      {
        breaks: 'the points are those of a day',
        find: 'Date.parse(point.received_at) - dayMs',
        replace: '0',
      },
      {
        breaks: 'a save has the rank before it left',
        find: '    this.#addSaves(event)\n    this.tracks.add(trackOf(event))',
        replace: '    this.tracks.add(trackOf(event))\n    this.#addSaves(event)',
      },
    ],
  },
]
