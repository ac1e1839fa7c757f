/**
 * The checks of a version in a process of its own, beside a service that goes on serving. Making 5,000 trial rows,
 * computing their features and comparing what comes out holds an event loop for tens of milliseconds at a time; there
 * it holds nobody's. The process and its sessions run behind the service.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { loadModel, type LoadedModel, type LoadOptions } from '../loaded-model.js'
import { ModelDownError, ModelError } from '../model.js'
import { lowerPriority } from '../priority.js'
import { startMsMax } from '../sessions/index.js'
import type { CheckMessage, CheckOrder, SoundVersion } from './checker.js'

/** Start and checks together. A bound, not an expectation. */
const checkMsMax = 2 * startMsMax
/** Of what a process that fails has printed. */
const printedCharsMax = 1000

/** Types are stripped by nobody in a child: from source, too, it is the built file that runs. */
const checkerFile = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/model/verification/checker.js' : './checker.js',
    import.meta.url,
  ),
)

/**
 * As `loadSoundModel`, without the work of the checks in this process: they are made first, by processes of their own,
 * and what is loaded then are the same files. `ended` gives up.
 */
export async function loadSoundModelBeside(
  options: LoadOptions & { readonly version: string },
  ended: AbortSignal,
): Promise<LoadedModel> {
  const { identity, mayRise } = await checkApart(options, ended)
  const model = await loadModel({ ...options, beside: { mayRise } })
  if (model.identity === identity) return model
  await model.close()
  throw new ModelError(`model ${options.version} was changed while it was checked`)
}

/** Rejects with a `ModelError` that says what is wrong; what the process had to say about it is logged then. */
async function checkApart(
  { codec, log, ...options }: LoadOptions & { readonly version: string },
  ended: AbortSignal,
): Promise<SoundVersion> {
  if (ended.aborted) throw gaveUp()
  const child = spawn(process.execPath, [checkerFile], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  if (child.pid !== undefined) lowerPriority(child.pid)
  const order: CheckOrder = { options, codec: codec?.name ?? 'reference' }
  const lines: Line[] = []
  try {
    return await outcomeOf(child, order, lines, ended)
  } catch (error) {
    for (const { level, fields, message } of lines) log[level](fields, message)
    throw error
  } finally {
    child.kill('SIGKILL')
  }
}

type Line = Extract<CheckMessage, { kind: 'line' }>

function outcomeOf(
  child: ChildProcess,
  order: CheckOrder,
  lines: Line[],
  ended: AbortSignal,
): Promise<SoundVersion> {
  const { version } = order.options
  return new Promise((resolve, reject) => {
    let printed = ''
    child.stderr?.on('data', (piece: Buffer) => {
      printed = (printed + piece.toString()).slice(-printedCharsMax)
    })
    const giveUp = (): void => settle(() => reject(gaveUp()))
    const timer = setTimeout(() => {
      const late = new ModelError(`the checks of model ${version} took longer than ${checkMsMax} ms`)
      settle(() => reject(late))
    }, checkMsMax)
    const settle = (end: () => void): void => {
      clearTimeout(timer)
      ended.removeEventListener('abort', giveUp)
      end()
    }
    ended.addEventListener('abort', giveUp)
    child.on('message', (said) => {
      const message = said as CheckMessage
      if (message.kind === 'line') lines.push(message)
      else if (message.kind === 'sound') settle(() => resolve(message))
      else settle(() => reject(new ModelError(message.reason)))
    })
    // A process that ends has nobody to send to; how it ended is heard of.
    child.on('error', (cause) => {
      const why = `model ${version} cannot be checked: ${cause.message}`
      settle(() => reject(new ModelError(why, { cause })))
    })
    child.on('close', (code, signal) => {
      const how = signal === null ? `with code ${code}` : `by ${signal}`
      const words = printed.trim() === '' ? '' : `: ${printed.trim()}`
      settle(() => reject(new ModelError(`the checks of model ${version} were ended ${how}${words}`)))
    })
    // Without a process there is no channel: the error follows.
    if (child.pid !== undefined) child.send(order, () => undefined)
  })
}

function gaveUp(): ModelDownError {
  return new ModelDownError('the service ends')
}
