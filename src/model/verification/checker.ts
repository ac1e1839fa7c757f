/**
 * The process behind `loadSoundModelBeside`: loads a version as it would serve, checks it, says what came out, and is
 * ended by its owner. It ends with its owner, and its sessions end with it.
 */
import { loadCodec, type CodecChoice } from '../../codec/index.js'
import { takeChildDuties } from '../child-duties.js'
import type { LoadOptions } from '../loaded-model.js'
import type { ModelLog } from '../log.js'
import { ModelError } from '../model.js'
import { messageDescriptor } from '../processes/index.js'
import { BlockingFrames } from '../sessions/index.js'
import { loadSoundModel } from './sound-model.js'

export interface CheckOrder {
  readonly options: Omit<LoadOptions, 'codec' | 'log'> & { readonly version: string }
  readonly codec: CodecChoice
}

export interface SoundVersion {
  /** Of the model that was checked: see `LoadedModel`. */
  readonly identity: string
}

export type CheckMessage =
  | {
      readonly kind: 'line'
      readonly level: 'warn' | 'error'
      readonly fields: object
      readonly message: string
    }
  | ({ readonly kind: 'sound' } & SoundVersion)
  | { readonly kind: 'failed'; readonly reason: string }

const frames = new BlockingFrames(messageDescriptor)

async function check({ options, codec }: CheckOrder): Promise<CheckMessage> {
  try {
    const model = await loadSoundModel({ ...options, codec: loadCodec(codec).codec, log })
    await model.close()
    return { kind: 'sound', identity: model.identity }
  } catch (error) {
    return { kind: 'failed', reason: reasonOf(error) }
  }
}

/** Where something of ours broke, the place helps to find it. */
function reasonOf(error: unknown): string {
  if (error instanceof ModelError) return error.message
  return (error instanceof Error ? error.stack : undefined) ?? String(error)
}

const log: ModelLog = {
  info: () => undefined,
  warn: (fields, message) => sayLine('warn', fields, message),
  error: (fields, message) => sayLine('error', fields, message),
}

function sayLine(level: 'warn' | 'error', fields: object, message: string): void {
  // An error would arrive without its words; the message has them.
  const told = Object.fromEntries(Object.entries(fields).filter(([, value]) => !(value instanceof Error)))
  say({ kind: 'line', level, fields: told, message })
}

function say(message: CheckMessage): void {
  frames.write(message, 'json')
}

takeChildDuties()
// The lifeline: it ends when the owner does.
process.stdin.resume().on('close', () => process.kill(process.pid, 'SIGKILL'))
const order = frames.next()?.value
if (order !== undefined) say(await check(order as CheckOrder))
