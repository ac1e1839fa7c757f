/**
 * What happens to a Patroni cluster: each fault breaks something, waits until a new cycle is acknowledged, and repairs what is
 * broken.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault as AnyFault, Round } from '../faults.js'
import type { Member } from './member.js'
import type { Site } from './site.js'

export type Fault = AnyFault<Site>

/** Patroni promotes a standby after about ttl seconds (20), and the lease of an owner is 20 s. */
const failoverMsMax = 60_000
const handOverMsMax = 30_000

/** Patroni needs this time to notice the loss of etcd: retry_timeout, and a loop. */
const demotionMs = 20_000

/** Patroni before 3.0.3 overwrites the lock of the new leader when the old one reaches etcd again: commits are lost. */
const skipIfLockIsOverwritten = ({ patroniVersion: [major, minor, patch] }: Site): string | null =>
  major * 10_000 + minor * 100 + patch >= 30_003
    ? null
    : `Patroni ${major}.${minor}.${patch} overwrites the lock of a new leader; 3.0.3 does not`

export const faults: readonly Fault[] = [
  {
    name: "the leader's machine is lost",
    run: async ({ site, outage }) => {
      const leader = await site.leader()
      await outage(failoverMsMax, () => leader.machine.kill())
      leader.start()
    },
  },
  {
    name: 'patronictl switchover',
    run: async ({ site, outage }) => {
      const [leader, candidate] = [await site.leader(), await site.synchronous()]
      await outage(handOverMsMax, () =>
        site.patronictl('switchover', '--leader', leader.name, '--candidate', candidate.name),
      )
    },
  },
  {
    name: 'patronictl restart of the leader',
    run: async ({ site, outage }) => {
      const leader = await site.leader()
      await outage(handOverMsMax, () => site.patronictl('restart', leader.name))
    },
  },
  {
    name: 'etcd has no quorum, and gets it back',
    run: async ({ site, outage }) => {
      const stopped = site.members.slice(1)
      await Promise.all(stopped.map((member) => member.killEtcd()))
      await delay(demotionMs)
      await outage(failoverMsMax, () => {
        for (const member of stopped) member.startEtcd()
      })
    },
  },
  {
    name: 'the data directory of the leader is gone',
    run: async ({ site, outage }) => {
      await loseData(site, await site.leader(), outage)
    },
  },
  {
    name: 'the data directory of the synchronous standby is gone',
    run: async ({ site, outage }) => {
      await loseData(site, await site.synchronous(), outage)
    },
  },
  {
    name: 'no standby is left, and both come back',
    run: async ({ site, outage }) => {
      const leader = await site.leader()
      const standbys = site.members.filter((member) => member !== leader)
      await Promise.all(standbys.map((member) => member.killPatroni()))
      await delay(demotionMs)
      await outage(failoverMsMax, () => {
        for (const member of standbys) member.startPatroni()
      })
    },
  },
  {
    name: 'the disk of the leader is full',
    run: async ({ site, outage }) => {
      const leader = await site.leader()
      await leader.fillDisk()
      await delay(demotionMs)
      await outage(failoverMsMax, () => leader.freeDisk())
    },
  },
  {
    name: 'the leader is cut off from the network',
    skipReason: skipIfLockIsOverwritten,
    run: async ({ site, outage }) => {
      const { machine } = await site.leader()
      await outage(failoverMsMax, () => machine.connect(false))
      await delay(5000)
      await machine.connect(true)
    },
  },
  {
    name: 'the leader is cut off from the other members',
    skipReason: skipIfLockIsOverwritten,
    run: async ({ site, outage }) => {
      const leader = await site.leader()
      const others = site.members.filter((member) => member !== leader)
      await outage(failoverMsMax, async () => {
        for (const { machine } of others) await leader.machine.route(machine, false)
      })
      await delay(5000)
      for (const { machine } of others) await leader.machine.route(machine, true)
    },
  },
  {
    name: 'rolling restart of the processes',
    run: async ({ site, outage }) => {
      for (const service of site.services) {
        await outage(handOverMsMax, () => service.stop())
        await service.start()
        await site.settle()
      }
    },
  },
  {
    name: 'the machines of the leader and of the owner are lost together',
    run: async ({ site, outage }) => {
      const [leader, owner] = [await site.leader(), await site.owner()]
      await outage(failoverMsMax, async () => {
        await Promise.all([leader.machine.kill(), owner.kill()])
      })
      leader.start()
      await owner.start()
    },
  },
]

/** The machine is lost with its disk, and starts again with an empty one: Patroni copies the leader. */
async function loseData(site: Site, member: Member, outage: Round<Site>['outage']): Promise<void> {
  await outage(failoverMsMax, () => member.machine.kill())
  member.deleteData()
  member.start()
  await site.settle()
}
