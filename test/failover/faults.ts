/**
 * The faults of the failover test. Each is injected, lasts for a while, and is healed.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { environment, signal, type Site, type SiteProcess } from './site.js'

export interface Fault {
  readonly name: string
  /** Milliseconds from the fault to the next owner; the fault may be one that needs none. */
  readonly readyMsMax: number
  readonly inject: (site: Site, owner: SiteProcess) => Promise<void> | void
  readonly heal: (site: Site, owner: SiteProcess) => Promise<void> | void
}

const takeoverMsMax = 30_000

export const faults: readonly Fault[] = [
  {
    name: 'the owner is killed',
    readyMsMax: takeoverMsMax,
    inject: async (_, owner) => {
      owner.isRunning = false
      await owner.server.kill('SIGKILL')
    },
    heal: (site, owner) => site.run(owner),
  },
  {
    name: 'the owner is stopped gracefully',
    readyMsMax: 10_000,
    inject: async (_, owner) => {
      owner.isRunning = false
      await owner.server.kill('SIGTERM')
    },
    heal: (site, owner) => site.run(owner),
  },
  {
    name: 'the owner hangs and wakes up',
    readyMsMax: takeoverMsMax,
    inject: (_, { server }) => signal(server.pid ?? 0, 'SIGSTOP'),
    heal: (_, { server }) => signal(server.pid ?? 0, 'SIGCONT'),
  },
  {
    name: 'the owner is cut off from the database',
    readyMsMax: takeoverMsMax,
    inject: (_, { proxies }) => proxies.forEach((proxy) => proxy.cut()),
    heal: (_, { proxies }) => proxies.forEach((proxy) => proxy.heal()),
  },
  {
    name: 'the network to the database is slow',
    readyMsMax: takeoverMsMax,
    inject: (site) =>
      site.processes.forEach(({ proxies }) => proxies.forEach((proxy) => (proxy.delayMs = 200))),
    heal: (site) => site.processes.forEach(({ proxies }) => proxies.forEach((proxy) => proxy.heal())),
  },
  {
    name: 'the primary is killed',
    readyMsMax: takeoverMsMax,
    inject: (site) => {
      processesOf(site.primary.pid).forEach((pid) => signal(pid, 'SIGKILL'))
      replace(site)
    },
    heal: rebuildOthers,
  },
  {
    name: 'the primary hangs, is replaced, and wakes up',
    readyMsMax: takeoverMsMax,
    inject: (site) => {
      hanging = processesOf(site.primary.pid)
      hanging.forEach((pid) => signal(pid, 'SIGSTOP'))
      replace(site)
    },
    heal: (site) => {
      hanging.forEach((pid) => signal(pid, 'SIGCONT'))
      rebuildOthers(site)
    },
  },
  {
    name: 'a standby of the database ends',
    readyMsMax: takeoverMsMax,
    inject: (site) => {
      replaced = site.databases.find((server) => server !== site.primary) ?? null
      replaced?.stop()
    },
    heal: rebuildOthers,
  },
  {
    name: 'the clock of the database jumps by an hour',
    readyMsMax: takeoverMsMax,
    inject: (site) => {
      site.sql(
        `update understudy.environment set lease_until = lease_until - interval '1 h' where name = '${environment}'`,
      )
    },
    heal: () => undefined,
  },
  {
    name: 'rolling deployment',
    readyMsMax: 10_000,
    inject: async (site) => {
      for (const process of site.processes) {
        await process.server.kill('SIGTERM')
        await site.run(process)
      }
    },
    heal: () => undefined,
  },
]

let hanging: readonly number[] = []
/** The database server that is not part of the site any more. */
let replaced: Site['primary'] | null = null

function replace(site: Site): void {
  replaced = site.primary
  site.promote()
}

function rebuildOthers(site: Site): void {
  if (replaced !== null) site.rebuild(replaced)
  replaced = null
}

/** A postmaster and its backends. */
function processesOf(postmaster: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/stat`, 'utf8')
          .replace(/^.*\) \S /s, '')
          .startsWith(`${postmaster} `)
      } catch {
        return false
      }
    })
  return [postmaster, ...children.map(Number)]
}
