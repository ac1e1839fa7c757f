/** Mutants of src/store/journal. */
import type { MutantGroup } from './mutant.js'

export const storeJournalMutants: readonly MutantGroup[] = [
  {
    file: 'src/store/journal/connection.ts',
    killedBy: ['src/store/journal/postgres-journal.test.ts'],
    mutants: [
      {
        breaks: 'a commit that ends with a warning is not stored',
        find: 'if (notice.code !== successCode)',
        replace: "if (notice.code === 'none')",
      },
      {
        breaks: 'a statement has a time limit',
        find: 'await Promise.race([response, limit])',
        replace: 'await response',
      },
    ],
  },
  {
    file: 'src/store/journal/statements.ts',
    killedBy: ['src/store/journal/postgres-journal.test.ts'],
    mutants: [
      {
        breaks: 'an owner of an earlier epoch commits nothing',
        find: 'in_force and name = $1 and epoch = $2 and head = $3',
        replace: 'in_force and name = $1 and epoch <= $2 + 9 and head = $3',
      },
      {
        breaks: 'an entry follows the head',
        find: 'in_force and name = $1 and epoch = $2 and head = $3',
        replace: 'in_force and name = $1 and epoch = $2 and head <= $3',
      },
      {
        breaks: 'a value that has become shorter has no old parts',
        find: 'r.key = p.key and r.part > p.part_last',
        replace: 'r.key = p.key and r.part > p.part_last + 9',
      },
      {
        breaks: 'a removed record is kept as long as its entry',
        find: 'r.entry <= horizon.number',
        replace: 'r.entry <= horizon.number + 1',
      },
      {
        breaks: 'a lease that ends implausibly late is free',
        find: 'or lease_until > clock_timestamp()',
        replace: "or lease_until > clock_timestamp() + interval '9 d'",
      },
    ],
  },
  {
    file: 'src/store/journal/statements.ts',
    killedBy: ['src/store/journal/pgbouncer.test.ts'],
    mutants: [
      {
        breaks: 'a commit waits for the disk whatever the default is',
        find: "when 'remote_apply' then 'remote_apply' else 'on' end",
        replace: "when 'remote_apply' then 'remote_apply' else current_setting('synchronous_commit') end",
      },
      {
        breaks: 'settings of a commit do not stay in a session of the pool',
        find: "`set_config('${name}', ${value}, true)`)\n    .join(' || ')",
        replace: "`set_config('${name}', ${value}, false)`)\n    .join(' || ')",
      },
    ],
  },
  {
    file: 'src/store/journal/postgres-journal.ts',
    killedBy: ['src/store/journal/postgres-journal.test.ts'],
    mutants: [
      {
        breaks: 'a view with a lost entry receives an error',
        find: "entry?.['token'] !== token",
        replace: 'entry === undefined',
      },
      {
        breaks: 'a process prunes removals until none is left',
        find: "Number(row?.['count']) < pruneCount",
        replace: 'true',
      },
    ],
  },
  {
    file: 'src/store/journal/postgres-journal.ts',
    killedBy: ['src/store/journal/refusals.test.ts'],
    mutants: [
      {
        breaks: 'after a lost connection, the next server is tried first',
        find: 'connect(this.#options, this.#connection.server + 1)',
        replace: 'connect(this.#options, this.#connection.server)',
      },
      {
        breaks: 'a statement that was refused does not cost the connection',
        find: 'if (!(error instanceof Refusal) || this.#connection.isInTransaction) this',
        replace: 'this',
      },
    ],
  },
  {
    file: 'src/store/journal/replica.ts',
    killedBy: [
      'src/store/journal/replica.test.ts',
      'src/store/journal/replica-simulation.test.ts',
      'src/store/journal/takeover.test.ts',
    ],
    mutants: [
      {
        breaks: 'an owner whose lease has expired does not serve',
        find: "this.#phase === 'owner' && this.#parts.now() < this.#validUntil ?",
        replace: "this.#phase === 'owner' ?",
      },
      {
        breaks: 'an unknown outcome is settled before the next response',
        find: "    this.#phase = 'uncertain'\n    this.#parts.log.warn(",
        replace: '    this.#parts.log.warn(',
      },
      {
        breaks: 'a new owner reads the journal before it serves',
        find: "if (!this.#isIn('following', lease)) return\n    await this.#follow()",
        replace: "if (!this.#isIn('following', lease)) return",
      },
      {
        breaks: 'memory is brought up to date before the first response',
        find: 'await this.#notify({ isComplete: false, imagesStored: [], imagesRemoved: [] })',
        replace: '',
      },
      {
        breaks: 'a process with a view that cannot be written leaves the lease',
        find: "error.code === 'failed' && !isRefused && this.#view.isHealthy",
        replace: "error.code !== 'closed'",
      },
      {
        breaks: 'a takeover that was lost meanwhile does not make an owner',
        find: 'return this.#phase === phase && this.#lease?.epoch === lease.epoch',
        replace: 'return this.#phase === phase && lease.epoch > 0',
      },
      {
        breaks: 'an owner that cannot serve leaves the environment',
        find: 'if (await canServe()) this.#leaveAt',
        replace: 'this.#leaveAt',
      },
      {
        breaks: 'a process that stops frees its lease',
        find: 'const releasing = journal.release(lease.epoch)',
        replace: 'const releasing = Promise.resolve()',
      },
    ],
  },
  {
    file: 'src/store/journal/view.ts',
    killedBy: ['src/store/journal/view.test.ts'],
    mutants: [
      {
        breaks: 'what an interrupted reading has taken does not stay if the journal lacks it',
        find: '        this.#state.partial,\n',
        replace: '        null,\n',
      },
    ],
  },
  {
    file: 'src/store/journal/staged-databases.ts',
    killedBy: ['src/store/journal/staged-databases.test.ts'],
    mutants: [
      {
        breaks: 'a write that throws leaves no change',
        find: 'for (const revert of undo.reverse()) revert()',
        replace: '',
      },
      {
        breaks: 'readers outside of a write see the view alone',
        find: 'return this.#progress.undo !== null && this.#rows.size > 0',
        replace: 'return this.#rows.size > 0',
      },
    ],
  },
]
