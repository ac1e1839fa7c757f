/**
 * `understudy models embed`: vectors of texts and images, the token ids and the statistics of the pixels, computed by the code
 * that serves, for a comparison with the training.
 */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { imageEdgePixelsMax, ServiceError } from '../../contract/index.js'
import { normaliseImage } from '../../images/index.js'
import { encodeImages, encodeTexts, readEncoders, type Encoding } from '../../model/index.js'
import { printResult, type CommandContext } from '../context.js'
import { CommandError, messageLine, UsageError } from '../failure.js'
import { count } from '../text/format.js'
import { settingsOf, type Flags } from '../settings/read-settings.js'
import { labelledLines } from '../text/text-table.js'
import { loadOptions } from './common.js'

const labelCells = 10
/** Of a vector, so many values are printed as text; `--json` has all. */
const valuesMax = 8

export interface EmbedFlags extends Flags {
  readonly text: readonly string[]
  readonly body?: string
  readonly json?: true
  readonly image: readonly string[]
}

export async function embed(version: string, flags: EmbedFlags, context: CommandContext): Promise<void> {
  const { text: titles, body, image: files } = flags
  if (titles.length + files.length === 0) throw new UsageError('give at least one --text or --image')
  if (body !== undefined && titles.length === 0) throw new UsageError('--body needs --text')
  const settings = settingsOf(flags, context)
  const modelPackage = await readEncoders(settings.modelsDir, version)
  const options = loadOptions(version, settings, context)
  const records = titles.map((title) => Buffer.from(JSON.stringify({ title, body_html: body })))
  const images = await Promise.all(files.map((file) => uploaded(resolve(context.directory, file), file)))
  const texts = await encodeTexts(modelPackage, records, options)
  const encoded = await encodeImages(
    modelPackage,
    images.map(({ normalised }) => normalised),
    options,
  )
  const result = {
    version,
    texts: texts.map(({ tokenized, ...encoding }) => ({
      text: tokenized?.text ?? null,
      token_ids: tokenized?.tokenIds ?? [],
      ...encodingJson(encoding),
    })),
    images: encoded.map(({ pixels, ...encoding }, index) => ({
      file: files[index]!,
      width: images[index]?.width,
      height: images[index]?.height,
      pixels,
      ...encodingJson(encoding),
    })),
  }
  printResult(context, flags, result, () => textOf(result, context.columns()))
  const lacking = [...result.texts, ...result.images].filter(({ vector }) => vector === null).length
  if (lacking > 0) throw new CommandError(`${lacking} of ${titles.length + files.length} have no vector`)
}

/** The copy that the service stores of an upload, and the size of the upload. */
async function uploaded(path: string, file: string) {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${file}: ${messageLine(cause)}`, { cause })
  })
  try {
    return await normaliseImage(bytes)
  } catch (cause) {
    if (!(cause instanceof ServiceError)) throw cause
    throw new CommandError(`the service refuses ${file}: ${cause.message}`, { cause })
  }
}

type EncodingJson = ReturnType<typeof encodingJson>

/** A float32 as the double that it equals. */
function encodingJson({ vector, problem }: Encoding) {
  return { vector: vector && Array.from(vector), problem }
}

interface Result {
  readonly texts: readonly (EncodingJson & {
    readonly text: string | null
    readonly token_ids: readonly number[]
  })[]
  readonly images: readonly (EncodingJson & {
    readonly file: string
    readonly width: number | undefined
    readonly height: number | undefined
    readonly pixels: Awaited<ReturnType<typeof encodeImages>>[number]['pixels']
  })[]
}

function textOf({ texts, images }: Result, cells: number | undefined): string {
  const line = (label: string, value: string): string => labelledLines(label.padEnd(labelCells), value, cells)
  const vectorLines = ({ vector, problem }: EncodingJson): string => {
    if (vector === null) return line('vector', `none: ${problem ?? ''}`)
    const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
    const values = vector.slice(0, valuesMax).map(figure).join(' ')
    const rest = vector.length > valuesMax ? ' …' : ''
    return line('vector', `${count(vector.length)} values, of length ${figure(length)}: ${values}${rest}`)
  }
  const blocks = [
    ...texts.map(
      ({ text, token_ids: ids, ...encoding }) =>
        line('text', JSON.stringify(text)) +
        line('tokens', `${ids.length}: ${ids.join(' ')}`) +
        vectorLines(encoding),
    ),
    ...images.map(({ file, width = 0, height = 0, pixels, ...encoding }) => {
      const isReduced = Math.max(width, height) > imageEdgePixelsMax
      const size = `${width} × ${height}${isReduced ? `, reduced to ${imageEdgePixelsMax} on the longer edge` : ''}`
      const channels = pixels?.channels.map(({ channel, mean, std, min, max }) =>
        line(channel, `mean ${figure(mean)}, std ${figure(std)}, ${figure(min)} to ${figure(max)}`),
      )
      return (
        line('image', `${file}, ${size}`) +
        (pixels === null ? '' : line('tensor', `[${pixels.shape.join(', ')}]`)) +
        (channels ?? []).join('') +
        vectorLines(encoding)
      )
    }),
  ]
  return blocks.join('\n')
}

function figure(value: number): string {
  return String(Number(value.toPrecision(7)))
}
