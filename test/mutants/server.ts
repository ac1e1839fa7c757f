/** Mutants of src/server. */
import type { MutantGroup } from './mutant.js'

export const serverMutants: readonly MutantGroup[] = [
  {
    file: 'src/server/api-keys.ts',
    killedBy: ['src/server/api-keys.test.ts'],
    mutants: [
      {
        breaks: 'a key is compared with every known key in full',
        find: 'if (timingSafeEqual(known, given)) accepted = true',
        replace: 'if (known.indexOf(given.subarray(0, 1)) === 0) accepted = true',
      },
      {
        breaks: 'a key is accepted wherever it is in the list',
        find: 'accepted = true\n    return',
        replace: 'accepted = true\n      else accepted = false\n    return',
      },
      {
        breaks: 'keys that differ in the upper byte of a character are two keys',
        find: "from(text, 'utf16le')",
        replace: "from(text, 'latin1')",
      },
    ],
  },
  {
    file: 'src/server/body-admission.ts',
    killedBy: ['src/server/body-admission.test.ts'],
    mutants: [
      {
        breaks: 'bytes of exactly the limit are admitted',
        find: 'if (this.#bytesHeld + bytes > this.bytesMax) return',
        replace: 'if (this.#bytesHeld + bytes >= this.bytesMax) return',
      },
      {
        breaks: 'a large body that is complete makes room for another',
        find: 'if (isLarge) this.#largeCount--\n      isLarge',
        replace: 'isLarge',
      },
      {
        breaks: 'the bytes of a body are released once',
        find: 'this.#bytesHeld -= held\n        assert',
        replace: 'assert',
      },
    ],
  },
  {
    file: 'src/server/connection-limit.ts',
    killedBy: ['src/server/connection-limit.test.ts'],
    mutants: [
      {
        breaks: 'descriptors stay free for other files',
        find: 'this.#descriptorsMax - this.#reservedMax',
        replace: 'this.#descriptorsMax',
      },
    ],
  },
  {
    file: 'src/server/certificate-dates.ts',
    killedBy: ['src/server/certificate-dates.test.ts'],
    mutants: [
      {
        breaks: 'a certificate is valid in its last second',
        find: 'if (now > validTo) return',
        replace: 'if (now >= validTo) return',
      },
    ],
  },
  {
    file: 'src/server/growing-body.ts',
    killedBy: ['src/server/growing-body.test.ts'],
    mutants: [
      {
        breaks: 'a body keeps its first bytes when its buffer grows',
        find: 'this.#buffer.copy(grown, 0, 0, this.#length)',
        replace: 'this.#buffer.copy(grown, 0, 0, this.#length - 1)',
      },
    ],
  },
  {
    file: 'src/server/image-path.ts',
    killedBy: ['src/server/http-parts.test.ts'],
    mutants: [
      {
        breaks: 'a position has at least two digits',
        find: "!/^\\d{2,}$/.test(position ?? '')",
        replace: "!/^\\d+$/.test(position ?? '')",
      },
      {
        breaks: 'a path that is not UTF-8 is refused',
        find: 'if (segment.includes(undecoded)) return undefined',
        replace: '',
      },
    ],
  },
  {
    file: 'src/server/response-encoding.ts',
    killedBy: ['src/server/http-parts.test.ts'],
    mutants: [
      { breaks: 'a client that gives gzip the weight 0 gets none', find: '?? 0) > 0', replace: '?? 0) >= 0' },
    ],
  },
  {
    file: 'src/server/router.ts',
    killedBy: ['src/server/http-parts.test.ts'],
    mutants: [
      {
        breaks: 'the operations of GET serve HEAD too',
        find: "method === 'HEAD' ? 'GET' : method",
        replace: 'method',
      },
    ],
  },
  {
    file: 'src/server/media-types.ts',
    killedBy: ['src/server/http-parts.test.ts'],
    mutants: [
      {
        breaks: 'only gzip and identity are content encodings',
        find: "encoding !== '' && encoding !== 'identity' && encoding !== 'gzip'",
        replace: "encoding === 'br'",
      },
    ],
  },
  {
    file: 'src/server/image-uploads.ts',
    killedBy: ['src/server/image-uploads.test.ts'],
    mutants: [
      {
        breaks: 'an image whose write failed does not count as created',
        find: 'if (this.#isStored(key, hash)) this.#onCreated(key)',
        replace: 'this.#onCreated(key)',
      },
      {
        breaks: 'a stored image is compared by its bytes',
        find: 'return stored !== undefined && Buffer.compare(stored, hash) === 0',
        replace: 'return stored !== undefined || hash.length === 0',
      },
    ],
  },
  {
    file: 'src/server/log-output.ts',
    killedBy: ['src/server/log-output.test.ts'],
    mutants: [
      {
        breaks: 'lines that were lost are counted',
        find: 'this.#lostCount += lines.length - Number(lostBefore > 0)',
        replace: 'this.#lostCount += 1',
      },
      {
        breaks: 'the rest of a line is written after a short write',
        find: 'else if (error === null && written < bytes.length) this.#writeBytes(bytes.subarray(written), done)\n',
        replace: '',
      },
    ],
  },
  {
    file: 'src/server/incoming-body.ts',
    killedBy: ['src/server/requests.test.ts'],
    mutants: [
      {
        breaks: 'a body has a time limit',
        find: 'this.#response.close()\n        reject',
        replace: 'reject',
      },
      {
        breaks: 'a body of exactly its limit is read, a longer one is 413',
        find: 'return this.bytesReceived > bytesMax ? tooLarge(bytesMax) : this.reservation.receive(bytes)',
        replace: 'return this.reservation.receive(bytes)',
        also: [
          { find: 'if (announcedBytes > bytesMax) return Promise.reject(tooLarge(bytesMax))', replace: '' },
        ],
      },
    ],
  },
  {
    file: 'src/server/json-body.ts',
    killedBy: ['src/server/requests.test.ts'],
    mutants: [
      {
        breaks: 'decompressed bytes count in the memory of bodies',
        find: 'const refusal = exchange.body.reservation.add(json.length)',
        replace: 'const refusal = exchange.body.reservation.add(0)',
      },
      {
        breaks: 'what follows a gzip body is refused',
        find: 'if (!isPadding(bytes.subarray(bytesRead))) throw notGzip()',
        replace: '',
      },
      {
        breaks: 'the decompressed body has a limit',
        find: '{ maxOutputLength: jsonBodyBytesMax, chunkSize',
        replace: '{ maxOutputLength: 2 * jsonBodyBytesMax, chunkSize',
      },
    ],
  },
  {
    file: 'src/server/exchange.ts',
    killedBy: ['src/server/requests.test.ts'],
    mutants: [
      {
        breaks: 'the memory of a request is released at its end',
        find: 'this.#resources.workEnded()',
        replace: '',
      },
      {
        breaks: 'the response to HEAD has no body',
        find: "if (this.method === 'HEAD') {",
        replace: "if (this.method === 'TRACE') {",
      },
    ],
  },
  {
    file: 'src/server/request-handler.ts',
    killedBy: ['src/server/requests.test.ts', 'src/server/change-of-owner.test.ts'],
    mutants: [
      {
        breaks: 'whatever a handler throws after a change of owner is 503',
        find: 'await making.catch((error: unknown) => {\n      throw this.#replacement(term, error) ?? error',
        replace: 'await making.catch((error: unknown) => {\n      throw error',
      },
      {
        breaks: 'a response of an earlier epoch is not sent',
        find: "role === 'owner' && (replication?.epoch ?? 0) === term",
        replace: "role === 'owner'",
      },
      {
        breaks: 'what a handler threw before the change of owner is logged',
        find: 'return standby(error instanceof ServiceError ? error.cause : error)',
        replace: 'return standby()',
      },
      {
        breaks: 'only health needs no key',
        find: 'const isPublic = !(route instanceof ServiceError) && !route.operation.needsKey',
        replace: 'const isPublic = route instanceof ServiceError || !route.operation.needsKey',
      },
      {
        breaks: 'a refusal has Retry-After',
        find: "...(refusal.retryAfterS === undefined ? {} : { 'Retry-After': String(refusal.retryAfterS) }),",
        replace: '',
      },
      {
        breaks: 'an error is logged at info, whatever the level of its operation',
        find: 'exchange.logLevel = operation.logLevel',
        replace: "exchange.logLevel = 'debug'",
      },
    ],
  },
  {
    file: 'src/server/request-headers.ts',
    killedBy: ['src/server/requests.test.ts'],
    mutants: [
      {
        breaks: 'two lengths are ambiguous',
        find: "valueOf('content-length').includes(',') ||",
        replace: '',
      },
    ],
  },
  {
    file: 'src/cycle/stored-weights.ts',
    killedBy: ['src/server/requests.test.ts'],
    mutants: [
      {
        breaks: 'weights of which views, comments and up are 0 are unprocessable',
        find: 'if (views === 0 && comments === 0 && up === 0)',
        replace: 'if (views < 0)',
      },
    ],
  },
  {
    file: 'src/server/operations.ts',
    killedBy: ['src/server/requests.test.ts'],
    mutants: [
      {
        breaks: 'health names the weights in force, not those that are set',
        find: 'weights_version: cycles.weights.versionAt(clock())',
        replace: 'weights_version: cycles.weights.state().current.version',
      },
      { breaks: 'an image that is new is 201', find: 'created ? 201 : 200', replace: '200' },
    ],
  },
]
