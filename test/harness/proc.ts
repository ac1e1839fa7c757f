/**
 * Processes as Linux lists them in /proc: children, commands, memory, descriptors. What is not there, since the process has ended or
 * the system is another one, is null or empty.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const endMsMax = 10_000
const pollMs = 20
/** /proc counts CPU time in hundredths of a second. */
const clockTickMs = 10

/** Pid and start time, since a pid may be given again. */
export interface Process {
  readonly pid: number
  readonly startedAt: string
}

export function runningPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

/** Direct children of `pid` that run. */
export function childrenOf(pid: number): Process[] {
  return runningPids()
    .map(statOf)
    .filter((stat) => stat !== null && stat.parent === pid && stat.state !== 'Z')
    .map((stat) => stat as Process)
}

/** Whether it runs: in a container there may be no process that reaps zombies. */
export function isRunning(pid: number): boolean {
  const stat = statOf(pid)
  return stat !== null && stat.state !== 'Z'
}

/** Resolves when all of them have ended; rejects with the pids that have not. */
export async function ended(processes: readonly Process[]): Promise<void> {
  const isLeft = ({ pid, startedAt }: Process): boolean =>
    isRunning(pid) && statOf(pid)?.startedAt === startedAt
  const deadline = performance.now() + endMsMax
  while (processes.some(isLeft)) {
    if (performance.now() > deadline) {
      const pids = processes.filter(isLeft).map(({ pid }) => pid)
      throw new Error(`processes outlive their server: ${pids.join()}`)
    }
    await delay(pollMs)
  }
}

/** Its program and arguments. */
export function commandOf(pid: number): string[] {
  return read(pid, 'cmdline')?.split('\0') ?? []
}

/** Its environment, entries separated by NUL. */
export function environmentOf(pid: number): string {
  return read(pid, 'environ') ?? ''
}

/** Mebibytes of a line of /proc/PID/status. RssAnon leaves out the pages of files. */
export function memoryMib(pid: number, name: 'VmRSS' | 'VmHWM' | 'RssAnon' | 'RssShmem'): number | null {
  const [, kib] = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(read(pid, 'status') ?? '') ?? []
  return kib === undefined ? null : Number(kib) / 1024
}

/** CPU time of all of its threads. */
export function cpuMs(pid: number): number | null {
  const stat = statOf(pid)
  return stat === null ? null : stat.cpuTicks * clockTickMs
}

export function descriptorCount(pid: number): number | null {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return null
  }
}

/** Resources of a process; zeros without /proc. */
export interface Resources {
  readonly descriptors: number
  readonly rssMib: number
  /** Without the pages of files: the kernel keeps as many pages of the data file as memory allows. */
  readonly privateMib: number
  readonly rssPeakMib: number
}

export function resourcesOf(pid: number): Resources {
  return {
    descriptors: descriptorCount(pid) ?? 0,
    rssMib: memoryMib(pid, 'VmRSS') ?? 0,
    privateMib: memoryMib(pid, 'RssAnon') ?? 0,
    rssPeakMib: memoryMib(pid, 'VmHWM') ?? 0,
  }
}

interface Stat extends Process {
  readonly state: string
  readonly parent: number
  readonly cpuTicks: number
}

function statOf(pid: number): Stat | null {
  const text = read(pid, 'stat')
  if (text === null) return null
  // The name, in parentheses, may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return {
    pid,
    state: fields[0] ?? '',
    parent: Number(fields[1]),
    cpuTicks: Number(fields[11]) + Number(fields[12]),
    startedAt: fields[19] ?? '',
  }
}

function read(pid: number, name: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return null
  }
}
