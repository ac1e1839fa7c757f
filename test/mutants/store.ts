/** Mutants of src/store. */
import type { MutantGroup } from './mutant.js'

export const storeMutants: readonly MutantGroup[] = [
  {
    file: 'src/store/records/write-queue.ts',
    killedBy: ['src/store/lmdb/writer.test.ts'],
    mutants: [
      {
        breaks: 'large writes do not share a commit',
        find: 'if (count > 0 && bytes > this.#batchBytesMax) break',
        replace: 'if (count > bytes && bytes > this.#batchBytesMax) break',
      },
      {
        breaks: 'after a refused cycle a small write does not make the writer healthy',
        find: 'write.isCycle || write.bytes >= this.#refusedBytes',
        replace: 'write.isCycle || write.bytes > 0',
      },
    ],
  },
  {
    file: 'src/store/lmdb/writer.ts',
    killedBy: ['src/store/lmdb/writer.test.ts'],
    mutants: [
      {
        breaks: 'a write that would pass the size limit is refused',
        find: 'const bytesAdded = bytes + overheadBytes',
        replace: 'const bytesAdded = overheadBytes',
      },
      {
        breaks: 'a stopped writer refuses writes',
        find: 'const refusal = this.#stopped ?? this.#refusalOf(write)',
        replace: 'const refusal = this.#refusalOf(write)',
      },
      {
        breaks: 'a file that is replaced stops the writer',
        find: 'this.#environment.checkFile()',
        replace: '',
      },
      {
        breaks: 'a write that throws is rolled back alone',
        find: 'return () => write.reject(reason)',
        replace: 'throw reason',
      },
      {
        breaks: 'an I/O error on a full disk is full',
        find: 'bytesFree < bytesNeeded',
        replace: 'bytesFree > bytesNeeded',
      },
      {
        breaks: 'the specific error of a commit is its cause',
        find: 'return cause\n  }',
        replace: 'return error\n  }',
      },
    ],
  },
  {
    file: 'src/store/lmdb/open-lmdb-store.ts',
    killedBy: ['src/store/lmdb/lmdb-store.test.ts', 'src/store/store-suite.test.ts'],
    mutants: [{ breaks: 'close waits for writes in progress', find: 'await writes.close()', replace: '' }],
  },
  {
    file: 'src/store/records/cycles.ts',
    killedBy: ['src/store/lmdb/lmdb-store.test.ts', 'src/store/store-suite.test.ts'],
    mutants: [
      {
        breaks: 'a stored cycle id is refused',
        find: 'if (db.cycleIds.doesExist(idKey)) throw',
        replace: 'if (db.cycleIds.doesExist(idKey) && response.length === 0) throw',
      },
      {
        breaks: 'a cycle that was planned on an older pool is refused',
        find: 'record.position !== undefined && record.position !== free',
        replace: 'record.position !== undefined && record.position > free',
      },
    ],
  },
  {
    file: 'src/store/lmdb/own-cycles.ts',
    killedBy: ['src/store/lmdb/foreign-changes.test.ts'],
    mutants: [
      {
        breaks: 'a foreign cycle stops all writes',
        find: 'if (this.#unconfirmed.get(position) !== cycleId)',
        replace: "if (cycleId === '')",
      },
      {
        breaks: 'a file without the last cycle stops all writes',
        find: 'if (this.#lastStored > 0 && this.#idAt(this.#lastStored) === undefined)',
        replace: 'if (this.#lastStored < 0)',
      },
    ],
  },
  {
    file: 'src/store/lmdb/open-lmdb-store.ts',
    killedBy: ['src/store/lmdb/foreign-changes.test.ts'],
    mutants: [
      {
        breaks: 'a deleted lock file stops all writes',
        find: '[databasePath(dataDir), join(dataDir, directoryLockName)].map(fileCheck)',
        replace: '[databasePath(dataDir)].map(fileCheck)',
      },
    ],
  },
  {
    file: 'src/store/records/envelope.ts',
    killedBy: ['src/store/records/payloads.test.ts'],
    mutants: [
      {
        breaks: 'the checksum covers the payload',
        find: 'crc32(record.subarray(recordHeadBytes), crc32(record.subarray(0, checksumOffset)))',
        replace: 'crc32(record.subarray(0, checksumOffset))',
      },
      {
        breaks: 'a record of a later version is refused',
        find: 'if (record[0] !== recordVersion)',
        replace: 'if ((record[0] as number) < recordVersion)',
      },
    ],
  },
  {
    file: 'src/store/records/payloads.ts',
    killedBy: ['src/store/records/payloads.test.ts'],
    mutants: [
      {
        breaks: 'an outcome keeps the second of its arrival',
        find: 'view.getUint32(4, true) * 1000 }',
        replace: 'view.getUint32(4, true) }',
      },
      {
        breaks: 'an unknown encoding of a request is refused',
        find: 'if (encoding === undefined) throw',
        replace: "if (encoding === 'gzip' && tag > 2) throw",
      },
    ],
  },
  {
    file: 'src/store/records/keys.ts',
    killedBy: ['src/store/records/payloads.test.ts'],
    mutants: [
      {
        breaks: 'a text that is not a cycle id has no key',
        find: 'return cycleIdPattern.test(cycleId) ? Buffer',
        replace: 'return cycleId.length > 0 ? Buffer',
      },
      {
        breaks: 'image keys are in the order of their positions',
        find: 'view.setBigUint64(nameHashBytes + 8, BigInt(key.position))',
        replace: 'view.setBigUint64(nameHashBytes + 8, BigInt(key.position), true)',
      },
    ],
  },
  {
    file: 'src/base/flock.ts',
    killedBy: ['src/store/lmdb/directory-lock.test.ts'],
    mutants: [{ breaks: 'the lock is exclusive', find: "['-x', '-n', '3']", replace: "['-s', '-n', '3']" }],
  },
  {
    file: 'src/store/lmdb/directory-lock.ts',
    killedBy: ['src/store/lmdb/directory-lock.test.ts'],
    mutants: [
      {
        breaks: 'a lock file that is a link is refused',
        find: 'O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)',
        replace: 'O_RDWR | O_CREAT | O_NONBLOCK, 0o600)',
      },
      {
        breaks: 'only the owner can open the lock file',
        find: 'O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)',
        replace: 'O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644)',
      },
    ],
  },
  {
    file: 'src/store/records/outcomes.ts',
    killedBy: ['src/store/store-records.test.ts'],
    mutants: [
      {
        breaks: 'an outcome that exists is not created',
        find: 'if (!db.outcomes.doesExist(key)) created++',
        replace: 'created++',
      },
    ],
  },
  {
    file: 'src/store/records/weights.ts',
    killedBy: ['src/store/store-records.test.ts'],
    mutants: [
      {
        breaks: 'weights that follow another history are refused',
        find: 'count !== undefined && count !== stored',
        replace: 'count !== undefined && count < stored',
      },
      {
        breaks: 'weights that begin later, and were set earlier, no longer apply',
        find: 'db.weightTimes.removeSync(hidden)',
        replace: 'void hidden',
      },
      {
        breaks: 'the weights of the first cycle apply to a cycle before it',
        find: 'number === undefined ? readWeights(1)',
        replace: 'number === undefined ? undefined',
      },
    ],
  },
  {
    file: 'src/store/records/weights.ts',
    killedBy: ['src/cycle/stored-weights.test.ts'],
    mutants: [
      {
        breaks: 'what earlier versions stored is indexed by the next write',
        find: 'if (!isIndexed(stored))',
        replace: 'if (stored < 0)',
      },
      {
        breaks: 'what earlier versions stored is found',
        find: 'if (entry.firstCycleMs <= cycleAtMs) last = entry',
        replace: '',
      },
    ],
  },
  {
    file: 'src/store/records/images.ts',
    killedBy: ['src/store/store-records.test.ts'],
    mutants: [
      {
        breaks: 'a repeated image counts as a new arrival after an hour',
        find: 'const freshMs = hourMs',
        replace: 'const freshMs = 36_000_000',
      },
    ],
  },
]
