/**
 * A spool on disk for cycles, `understudy/client/spool`: it keeps each cycle from before its first attempt until its response
 * has been handled, so that a client that crashes sends the same body again at its next start. Needs Node.
 *
 *   spool/20260302T1205.json           waits for its response
 *   spool/20260302T1210.json.rejected  refused by the service; kept for inspection, and not sent again
 *   spool/20260302T1215.json.partial   an interrupted write; removed when the spool is opened
 *
 * One process uses a directory at a time.
 */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { CycleRequest, CycleResponse } from '../contract/wire.js'
import type { CallOptions, Client } from './client.js'
import { ApiError } from './errors.js'

export interface SpoolOptions {
  readonly client: Pick<Client, 'sendCycle'>
  /** It is created if it is missing. */
  readonly directory: string
  /** Stores a response. It may receive the same one again after a crash. If it throws, the cycle stays in the spool. */
  readonly onResponse: (response: CycleResponse) => void | Promise<void>
  /** The service refuses a cycle for its contents: 400, 409, 413 or 422. The file is renamed to `.rejected`. */
  readonly onRejected?: (cycleId: string, error: ApiError) => void | Promise<void>
}

/** Refusals that depend on the body alone. After any other failure, the same body may be accepted later. */
const finalKinds: ReadonlySet<string> = new Set(['bad_request', 'conflict', 'too_large', 'unprocessable'])
const namePattern = /^(\d{8}T\d{4})\.json$/

export class Spool {
  readonly #options: SpoolOptions
  /** Calls of `deliver` run one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  private constructor(options: SpoolOptions) {
    this.#options = options
  }

  /** Opens the spool and removes interrupted writes. Call `deliver` next: an earlier process may have left cycles. */
  static async open(options: SpoolOptions): Promise<Spool> {
    const directory = resolve(options.directory)
    const first = await mkdir(directory, { recursive: true })
    // An earlier process may have ended between a rename and its flush.
    await syncDirectories(directory, first === undefined ? directory : dirname(first))
    for (const name of await readdir(directory))
      if (name.endsWith('.partial')) await rm(join(directory, name))
    return new Spool({ ...options, directory })
  }

  /** The ids of the cycles that wait for their response, in the order in which they are sent. */
  async cycleIds(): Promise<string[]> {
    const names = await readdir(this.#options.directory)
    return names.flatMap((name) => namePattern.exec(name)?.[1] ?? []).sort()
  }

  /**
   * Writes a cycle to the spool. When it resolves, the cycle survives a crash and a power cut. Rejects if a cycle with
   * this id is in the spool already with another body: the service may have processed that one.
   */
  async add(cycle: CycleRequest): Promise<void> {
    const json = JSON.stringify(cycle)
    const path = this.#pathOf(cycle.cycle_id)
    const known = await readFile(path, 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return undefined
      throw error
    })
    if (known === json) return
    if (known !== undefined) throw new Error(`the spool has cycle ${cycle.cycle_id} with another body`)
    const partial = `${path}.partial`
    const file = await open(partial, 'w', 0o600)
    try {
      await file.writeFile(json)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(partial, path)
    await syncDirectory(this.#options.directory)
  }

  /**
   * Sends all cycles in the spool, the oldest first, and passes each response to `onResponse`. Rejects at the first one that
   * has no response, or one that concerns all cycles alike, such as 401; this one and later ones stay. After a 500, which
   * may concern one cycle only, it sends the later ones before it rejects.
   */
  deliver(options?: CallOptions): Promise<void> {
    const delivered = this.#last.then(async () => {
      let failure: ApiError | null = null
      for (const cycleId of await this.cycleIds()) failure = (await this.#send(cycleId, options)) ?? failure
      if (failure !== null) throw failure
    })
    this.#last = delivered.catch(() => undefined)
    return delivered
  }

  /** The error is a 500; other failures are thrown. */
  async #send(cycleId: string, options: CallOptions | undefined): Promise<ApiError | null> {
    const { client, onResponse, onRejected } = this.#options
    const path = this.#pathOf(cycleId)
    const json = await readFile(path, 'utf8')
    const outcome = await client.sendCycle(json, options).catch((error: unknown) => {
      if (error instanceof ApiError) return error
      throw error
    })
    if (!(outcome instanceof ApiError)) {
      if (outcome.cycle_id !== cycleId)
        throw new Error(`the response to cycle ${cycleId} is for cycle ${outcome.cycle_id}`)
      await onResponse(outcome)
      await rm(path)
    } else if (finalKinds.has(outcome.kind)) {
      await onRejected?.(cycleId, outcome)
      await rename(path, `${path}.rejected`)
    } else if (outcome.kind === 'server_error') return outcome
    else throw outcome
    return null
  }

  #pathOf(cycleId: string): string {
    const name = `${cycleId}.json`
    if (!namePattern.test(name))
      throw new TypeError(`a cycle_id is YYYYMMDDTHHMM, not ${JSON.stringify(cycleId)}`)
    return join(this.#options.directory, name)
  }
}

/** Flushes the entries of new directories: `deepest` and those above it, up to and including `top`. */
async function syncDirectories(deepest: string, top: string): Promise<void> {
  for (let directory = deepest; ; directory = dirname(directory)) {
    await syncDirectory(directory)
    if (directory === top) return
  }
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
