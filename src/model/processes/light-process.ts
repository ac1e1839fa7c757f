/**
 * A child process that the addon has started. Node would fork: that copies the page tables of the service, and holds its
 * event loop for 4 to 16 ms. Node does not know of this process, so it is reaped here.
 */
import { closeSync } from 'node:fs'
import { Socket } from 'node:net'
import { constants } from 'node:os'
import type { NativeAddon } from '../../codec/index.js'
import { endOf, type StartedProcess } from './started-process.js'

type ProcessAddon = Pick<NativeAddon, 'startProcess' | 'reapProcess' | 'createSocketPair'>

/** Between two looks whether a process that has closed its descriptors is gone. */
const lookMsMax = 100

/**
 * Starts this Node with `args`; `extra` are descriptors of ours behind those that every child has, or null. Throws what
 * the system says when it cannot. null: it is no system for this.
 */
export function startLightly(
  addon: ProcessAddon,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  extra: readonly (number | null)[],
): StartedProcess | null {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value ?? ''}`)
  const pipes = new Pipes(addon)
  try {
    const standard = [pipes.open(), pipes.open(), pipes.open(), pipes.open()]
    const descriptors = [...standard, ...extra.map((descriptor) => descriptor ?? -1)]
    const pid = addon.startProcess(process.execPath, [process.execPath, ...args], variables, descriptors)
    if (pid > 0) return new LightProcess(addon, pid, pipes.keepOurs())
  } catch (error) {
    pipes.closeAll()
    throw error
  }
  pipes.closeAll()
  return null
}

/** Connections to a child that is not there yet. */
class Pipes {
  readonly #addon: ProcessAddon
  readonly #ours: number[] = []
  readonly #theirs: number[] = []

  constructor(addon: ProcessAddon) {
    this.#addon = addon
  }

  /** The child's end of a new one. */
  open(): number {
    const [ours = -1, theirs = -1] = this.#addon.createSocketPair()
    if (ours < 0) return -1
    this.#ours.push(ours)
    this.#theirs.push(theirs)
    return theirs
  }

  /** The child has its ends: while this process held them too, they would never end. */
  keepOurs(): readonly number[] {
    for (const descriptor of this.#theirs) closeSync(descriptor)
    return this.#ours
  }

  closeAll(): void {
    for (const descriptor of [...this.#ours, ...this.#theirs]) closeSync(descriptor)
  }
}

class LightProcess implements StartedProcess {
  readonly pid: number
  readonly outputs: readonly Socket[]
  readonly messages: Socket
  readonly gone: Promise<void>
  readonly ended: Promise<string>
  readonly #addon: ProcessAddon
  #isGone = false

  /** `ours`: our ends, in the order of the child's descriptors. */
  constructor(addon: ProcessAddon, pid: number, ours: readonly number[]) {
    const [lifeline = -1, output = -1, errors = -1, messages = -1] = ours
    this.#addon = addon
    this.pid = pid
    this.outputs = [socket(output, false), socket(errors, false)]
    this.messages = socket(messages, true)
    const how = this.#reap().finally(() => closeSync(lifeline))
    this.gone = how.then(() => undefined)
    this.ended = Promise.all([how, ...this.outputs.map(closed)]).then(([end]) => end)
  }

  kill(): void {
    // Once it is reaped, the number may be another process's.
    if (!this.#isGone) process.kill(this.pid, 'SIGKILL')
  }

  /** The system closes the descriptors of a process on its way out: then it is gone, or will be at once. */
  async #reap(): Promise<string> {
    await closed(this.messages)
    for (let lookMs = 1; ; lookMs = Math.min(2 * lookMs, lookMsMax)) {
      const end = this.#addon.reapProcess(this.pid)
      if (end !== null) {
        this.#isGone = true
        return end === undefined ? 'ended' : endOf(end, end < 0 ? signalName(-end) : null)
      }
      await new Promise((resolve) => setTimeout(resolve, lookMs))
    }
  }
}

function socket(descriptor: number, writable: boolean): Socket {
  // It breaks because the process has ended, and that is heard of.
  return new Socket({ fd: descriptor, readable: true, writable }).on('error', () => undefined)
}

function closed(stream: Socket): Promise<void> {
  return new Promise((resolve) => stream.once('close', () => resolve()))
}

function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`
}
