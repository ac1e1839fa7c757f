/**
 * The text encoder of a model: records to token rows, rows to batches, batches through the graph, token vectors pooled.
 * It checks the clock between batches: past the budget, the remaining texts stay unencoded.
 */
import * as ort from 'onnxruntime-node'
import { textOutputProblems, textPortProblems } from './text-ports.js'
import type { ItemFailure, TokenizedText, Vectors } from '../model.js'
import { notFinite, poolOutput, type EncoderOutput } from '../sessions/pooling.js'
import type { TextPlan } from '../sessions/plans.js'
import { openTextReader, type TextReader } from './text-reader.js'
import type { TokenRow } from './tokenizer.js'
import { planBatches } from './batches.js'
import type { EncoderRequest } from '../sessions/batches.js'
import { explainHiddenBatch } from '../sessions/hidden-batch.js'
import { filledUp } from '../sessions/fixed-batch.js'
import {
  openGraph,
  PortError,
  runEncoder,
  type OpenedGraph,
  type Session,
} from '../sessions/graph-session.js'
import { isolateErrors } from '../sessions/isolate-errors.js'
import { itemReasonOf, reasonOf } from '../sessions/onnx-errors.js'
import type { Ports } from '../sessions/ports.js'
import type { OpenProgram } from '../sessions/program.js'

/**
 * Tokens of one run, padding included. Small on a CPU: the activations stay in its caches (8 rows of 128 tokens are as
 * fast as 100 in docs/performance.md) and the clock is checked often. A device needs large runs.
 */
const batchTokensMax = { cpu: 1024, device: 16_384 }

/** Letters of several scripts: the row that checks tokens_max consists of ordinary tokens. */
const probeText = '가나다 한글 abc 123.'

/** The vectors of a batch while it runs. */
type Reply = Vectors & { readonly failures: ItemFailure[]; readonly tokenized?: (TokenizedText | null)[] }

interface TextRow {
  /** Index into the request's records. */
  readonly record: number
  readonly tokens: TokenRow
}

/** Opens the encoder and runs one row of tokens_max tokens: a graph that cannot take it fails here, not on a post. */
export const openTextProgram: OpenProgram<TextPlan, EncoderRequest, Vectors> = async (
  plan,
  log,
  onOpened,
) => {
  const reader = await openTextReader(plan)
  const problemsOf = (ports: Ports): string[] => textPortProblems(ports, plan)
  const trial = async (opened: OpenedGraph): Promise<void> => {
    onOpened?.()
    await new TextEncoding(plan, reader, opened).probe()
  }
  const { session, placement, ports } = await openGraph(plan, { problemsOf, trial }, log)
  const encoding = new TextEncoding(plan, reader, { session, provider: placement.provider })
  onOpened?.()
  await encoding.probe()
  await encoding.probeRows()
  const unknown = await encoding.unknownIds()
  if (unknown !== null) log.warn({ check: 'text' }, unknown)
  return { placements: [placement], ports: [ports], run: (request) => encoding.run(request) }
}

class TextEncoding {
  readonly #plan: TextPlan
  readonly #reader: TextReader
  readonly #session: Session
  readonly #hasTypeIds: boolean
  readonly #batchTokens: number

  constructor(
    plan: TextPlan,
    reader: TextReader,
    { session, provider }: Pick<OpenedGraph, 'session' | 'provider'>,
  ) {
    this.#plan = plan
    this.#reader = reader
    this.#session = session
    this.#batchTokens = provider === 'cpu' ? batchTokensMax.cpu : batchTokensMax.device
    this.#hasTypeIds = session.inputNames.includes(plan.inputs.token_type_ids)
  }

  async run({ items: records, budgetMs, withTokens = false }: EncoderRequest): Promise<Vectors> {
    const endMs = performance.now() + (budgetMs ?? Infinity)
    const { dim } = this.#plan
    const reply: Reply = {
      vectors: new Float32Array(records.length * dim),
      encoded: new Uint8Array(records.length),
      failures: [],
      ...(withTokens ? { tokenized: records.map(() => null) } : {}),
    }
    const rows = await this.#tokenize(records, endMs, reply)
    const batches = planBatches(rows, ({ tokens }) => tokens.ids.length, this.#batchTokens, this.#plan.batch)
    for (const [number, batch] of batches.entries()) {
      // Always one batch: with a budget that is too short every time, nothing would ever be encoded.
      if (number > 0 && performance.now() >= endMs) break
      await isolateErrors([batch], {
        run: (some) => this.#encode(some, reply),
        control: () => this.probe(),
        onError: ({ record: item }, error) => reply.failures.push({ item, reason: itemReasonOf(error) }),
        isLate: () => performance.now() >= endMs,
      })
    }
    return reply
  }

  /** Runs a row of tokens_max tokens. */
  async probe(): Promise<void> {
    const tokens = await this.#reader.tokenizer.encode(`${probeText} `.repeat(this.#plan.tokens_max))
    try {
      await this.#runBatch([{ record: 0, tokens }])
    } catch (cause) {
      if (cause instanceof PortError) throw cause
      const { length } = tokens.ids
      throw new Error(`the text encoder fails on a row of ${length} tokens: ${reasonOf(cause)}`, { cause })
    }
  }

  /** Runs two short rows: a graph may accept only one without declaring it. */
  async probeRows(): Promise<void> {
    if (this.#plan.batch === 1) return
    const row = { record: 0, tokens: await this.#reader.tokenizer.encode(probeText) }
    try {
      await this.#runBatch([row, row])
    } catch (error) {
      const runOne = (): Promise<unknown> => this.#runBatch([row])
      throw await explainHiddenBatch(error, { noun: 'text', runOne, batch: this.#plan.batch })
    }
  }

  /** The problem if the tokenizer has ids that the graph does not have; else null. */
  async unknownIds(): Promise<string | null> {
    const { idMax } = this.#reader.tokenizer
    try {
      await this.#runBatch([{ record: 0, tokens: { ids: [idMax], typeIds: [0] } }])
      return null
    } catch (error) {
      return (
        `an oversized vocabulary: the tokenizer has ids up to ${idMax}, and the graph fails on the largest. Texts with ids that the graph ` +
        `does not have are not encoded: ${itemReasonOf(error)}`
      )
    }
  }

  /** Token rows of the records that can be read and are not empty; when time runs out, of the first ones. */
  async #tokenize(
    records: readonly Uint8Array[],
    endMs: number,
    { failures, tokenized }: Reply,
  ): Promise<TextRow[]> {
    const rows: TextRow[] = []
    for (const [record, bytes] of records.entries()) {
      if (rows.length > 0 && performance.now() >= endMs) break
      try {
        const read = await this.#reader.read(bytes)
        if (read === null) continue
        const { text, tokens } = read
        if (tokenized !== undefined) tokenized[record] = { text, tokenIds: tokens.ids }
        if (tokens.ids.length > 0) rows.push({ record, tokens })
      } catch (error) {
        // A text that the library cannot process, such as a word that a vocabulary without an unknown token lacks.
        failures.push({ item: record, reason: `the tokenizer fails: ${reasonOf(error)}` })
      }
    }
    return rows
  }

  async #encode(rows: readonly TextRow[], reply: Reply): Promise<void> {
    const output = await this.#runBatch(rows)
    const { dim, pooling: pool, normalize } = this.#plan
    rows.forEach(({ record, tokens }, row) => {
      const target = reply.vectors.subarray(record * dim, (record + 1) * dim)
      const tokenCount = tokens.ids.length
      if (poolOutput(output, row, { pool, tokenCount, normalize }, target)) reply.encoded[record] = 1
      else reply.failures.push({ item: record, reason: notFinite })
    })
  }

  #runBatch(some: readonly TextRow[]): Promise<EncoderOutput> {
    const rows = filledUp(some, this.#plan.batch)
    const length = rows.reduce((longest, { tokens }) => Math.max(longest, tokens.ids.length), 0)
    const { inputs, output } = this.#plan
    const shape = [rows.length, length]
    const ids = new BigInt64Array(rows.length * length).fill(BigInt(this.#reader.tokenizer.padTokenId))
    const mask = new BigInt64Array(rows.length * length)
    const typeIds = new BigInt64Array(this.#hasTypeIds ? rows.length * length : 0)
    rows.forEach(({ tokens }, row) => {
      const start = row * length
      tokens.ids.forEach((id, at) => (ids[start + at] = BigInt(id)))
      mask.fill(1n, start, start + tokens.ids.length)
      if (this.#hasTypeIds) tokens.typeIds.forEach((id, at) => (typeIds[start + at] = BigInt(id)))
    })
    const feeds = {
      [inputs.input_ids]: new ort.Tensor('int64', ids, shape),
      [inputs.attention_mask]: new ort.Tensor('int64', mask, shape),
      ...(this.#hasTypeIds ? { [inputs.token_type_ids]: new ort.Tensor('int64', typeIds, shape) } : {}),
    }
    return runEncoder(this.#session, feeds, output, shape, (port) => textOutputProblems(port, this.#plan))
  }
}
