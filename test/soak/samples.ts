/**
 * A sample of a server's resources: its memory and that of its model processes, descriptors, the delay of its event loop
 * since the last sample, and its data file.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { open } from 'lmdb'
import { mebibyte } from '../../src/base/index.js'
import { childrenOf, memoryMib } from '../harness/proc.js'
import type { SoakClient } from './client.js'
import type { SoakTarget } from './target.js'

export interface Sample {
  /** Cycles of the soak so far. */
  readonly cycle: number
  /** Private memory of the server, and RSS, which includes the mapped pages of the data file. */
  readonly ownMib: number
  readonly rssMib: number
  /** Private memory of the model processes. */
  readonly modelsMib: number
  readonly descriptors: number
  readonly processes: number
  /** Delay of the event loop at p99, without the time in which no core was available. */
  readonly loopP99Ms: number
  readonly loopMaxMs: number
  /** `POST /v1/cycles` since the last sample. */
  readonly postP50Ms: number
  readonly postP99Ms: number
  /** Size of the data file, the part ever written to, and the pages with records. */
  readonly fileMib: number
  readonly reachedMib: number
  readonly liveMib: number
}

/** Time for the server to close connections that the client has dropped. */
const settleMs = 250

export async function takeSample(target: SoakTarget, client: SoakClient): Promise<Sample> {
  await client.disconnect()
  await delay(settleMs)
  const pid = target.server.pid!
  const children = childrenOf(pid)
  const { rssMib, descriptors } = target.server.resources()
  const { ownP99Ms, ownMaxMs } = await target.server.loopDelay()
  const later = target.server.resources()
  const posts = client.postMs.splice(0).sort((a, b) => a - b)
  return {
    cycle: client.totals.cycles,
    ownMib: ownMib(pid),
    rssMib,
    modelsMib: children.reduce((sum, child) => sum + ownMib(child.pid), 0),
    // What is open for a moment, such as a file of /proc, is no leak.
    descriptors: Math.min(descriptors, later.descriptors),
    processes: children.length,
    loopP99Ms: ownP99Ms,
    loopMaxMs: ownMaxMs,
    postP50Ms: posts[Math.ceil(posts.length * 0.5) - 1] ?? 0,
    postP99Ms: posts[Math.ceil(posts.length * 0.99) - 1] ?? 0,
    ...(await fileUse(join(target.server.dataDir, 'understudy.mdb'))),
  }
}

/** Memory that no file backs, shared with children or not; 0 if the system does not report it. */
function ownMib(pid: number): number {
  return (memoryMib(pid, 'RssAnon') ?? 0) + (memoryMib(pid, 'RssShmem') ?? 0)
}

interface PageCounts {
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

/** Opens the file only briefly: a reader keeps freed pages from being reused. */
async function fileUse(path: string): Promise<Pick<Sample, 'fileMib' | 'reachedMib' | 'liveMib'>> {
  const root = open<Uint8Array, Uint8Array>({
    path,
    noSubdir: true,
    readOnly: true,
    maxDbs: 24,
    encoding: 'binary',
    keyEncoding: 'binary',
    cache: false,
  })
  try {
    const names = [...root.getKeys({})].map((name) => Buffer.from(name).toString().replace(/\0$/, ''))
    let bytes = 0
    let reached = 0
    for (const name of names) {
      const database = root.openDB<Uint8Array, Uint8Array>(name, { encoding: 'binary', cache: false })
      const stats = database.getStats() as PageCounts & { lastPageNumber: number }
      bytes += (stats.treeBranchPageCount + stats.treeLeafPageCount + stats.overflowPages) * stats.pageSize
      reached = (stats.lastPageNumber + 1) * stats.pageSize
    }
    const fileMib = statSync(path).size / mebibyte
    return { fileMib, reachedMib: reached / mebibyte, liveMib: bytes / mebibyte }
  } finally {
    await root.close()
  }
}
