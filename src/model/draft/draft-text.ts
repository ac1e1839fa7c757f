/**
 * Drafts the text encoder: from its graph, a trial run, and the files of transformers and sentence-transformers beside it.
 */
import { hash } from 'node:crypto'
import { numberIn, textIn, type Inventory, type Json } from './inventory.js'
import { guess, read, type Findings, type Known } from './findings.js'
import { GraphError } from '../model.js'
import type { TextManifest } from '../package/manifest.js'
import type { Port } from '../sessions/ports.js'
import type { TrialInput, TrialOutput } from '../sessions/trial-runs.js'
import { padTokenIdOf, parseTokenizerFile } from '../text/tokenizer-file.js'
import { readBytes } from '../package/read-file.js'
import { tryEncoder, type EncoderTrial } from './encoder-trial.js'
import { takeBatch, type TrialGraph } from './trial-graph.js'

const tokensMaxDefault = 128
const tokensMin = 8
const tokensMaxLimit = 8192
/** Beyond that, `model_max_length` is a placeholder. */
const lengthMax = 1_000_000
const trialTokenCount = 5

/** Files of libraries beside the graph; null: absent. */
interface Configs {
  readonly names: Readonly<
    Record<'tokenizer' | 'pooling' | 'modules' | 'sentence' | 'prompts' | 'model', string | null>
  >
  readonly tokenizer: Json | null
  readonly tokenizerFile: Json | null
  readonly pooling: Json | null
  readonly modules: readonly Json[]
  readonly sentence: Json | null
  readonly prompts: Json | null
  readonly model: Json | null
}

/** null: something is needed without which there is no encoder; the findings name it. */
export async function draftText(
  graph: TrialGraph,
  inventory: Inventory,
  findings: Findings,
): Promise<TextManifest | null> {
  const tokenizerFile =
    inventory.beside(graph.entry.file, 'tokenizer.json') ?? inventory.ending('tokenizer.json')[0] ?? null
  if (tokenizerFile === null) {
    findings.need(
      'text.tokenizer',
      `add Hugging Face's tokenizer.json beside ${graph.entry.file}: tokenizer.save_pretrained(…) writes it`,
    )
    return null
  }
  const configs = await readConfigs(graph.entry.file, inventory, tokenizerFile)
  const inputs = inputsOf(graph.ports.inputs, findings)
  if (inputs === null) return null
  const trial = await tryEncoder(graph, {
    inputs: (first, count) => trialTokens(graph, first, count),
    output: vectorsIn,
  }).catch((error: unknown) => {
    findings.need('text.output', `the graph fails on a trial run of two texts: ${(error as Error).message}`)
    return null
  })
  if (trial === null) return null
  const output = outputOf(trial, findings)
  if (output === null) return null
  const dim = output.dims.at(-1)!
  findings.take('text.dim', read(dim, `the last dimension of ${output.name} in a trial run`))
  const batch = takeBatch('text', graph, trial.batchOfOne, findings)
  const bytes = await readBytes(inventory.path(tokenizerFile))
  findings.take('text.tokenizer', read(tokenizerFile, 'the file'))
  const text: TextManifest = {
    ...graph.entry,
    ...batch,
    tokenizer: { file: tokenizerFile, sha256: hash('sha256', bytes) },
    template: findings.take('text.template', templateOf(configs)),
    tokens_max: findings.take('text.tokens_max', await tokensMaxOf(configs, graph, trial.rows)),
    dim,
    ...(output.dims.length === 3 ? { pooling: poolingOf(configs, findings) } : {}),
    ...normalizeOf(configs, findings),
    ...(Object.keys(inputs).length === 0 ? {} : { inputs }),
    ...(output.name === 'last_hidden_state' ? {} : { output: output.name }),
  }
  checkModules(configs, output, findings)
  return { ...text, ...padTokenOf(configs, bytes, findings) }
}

async function readConfigs(graph: string, inventory: Inventory, tokenizerFile: string): Promise<Configs> {
  const names = {
    tokenizer: inventory.beside(graph, 'tokenizer_config.json'),
    pooling: inventory.beside(graph, '1_Pooling/config.json'),
    modules: inventory.beside(graph, 'modules.json'),
    sentence: inventory.beside(graph, 'sentence_bert_config.json'),
    prompts: inventory.beside(graph, 'config_sentence_transformers.json'),
    model: inventory.beside(graph, 'config.json'),
  }
  const modules = await inventory.value(names.modules)
  return {
    names,
    tokenizer: await inventory.json(names.tokenizer),
    tokenizerFile: await inventory.json(tokenizerFile),
    pooling: await inventory.json(names.pooling),
    modules: Array.isArray(modules) ? (modules as Json[]) : [],
    sentence: await inventory.json(names.sentence),
    prompts: await inventory.json(names.prompts),
    model: await inventory.json(names.model),
  }
}

/** The members of `text.inputs` that differ from Hugging Face's names; null: an input has no meaning here. */
function inputsOf(ports: readonly Port[], findings: Findings): NonNullable<TextManifest['inputs']> | null {
  const roles = {
    input_ids: /ids|tokens?$/i,
    attention_mask: /mask/i,
    token_type_ids: /type|segment/i,
  } as const
  const inputs: NonNullable<TextManifest['inputs']> = {}
  for (const { name, dtype } of ports) {
    const exact = name in roles
    const role = exact
      ? (name as keyof typeof roles)
      : (['token_type_ids', 'attention_mask', 'input_ids'] as const).find((each) => roles[each].test(name))
    if (role === undefined || dtype !== 'int64') {
      const problem = role === undefined ? 'has no meaning here' : `must be int64, but is ${dtype}`
      findings.need(
        'text.inputs',
        `the graph's input ${name} ${problem}: export it with input_ids and attention_mask in int64`,
      )
      return null
    }
    if (!exact) inputs[role] = findings.take(`text.inputs.${role}`, guess(name, 'the name of the input'))
  }
  return inputs
}

/** Rows of small token ids, which are in every vocabulary, and ones for masks. A row has two ids: one of them may be that of padding. */
function trialTokens(
  { ports: { inputs } }: TrialGraph,
  first: number,
  rows: number,
  tokens = trialTokenCount,
): TrialInput[] {
  return inputs.map(({ name }) => ({
    name,
    type: 'int64' as const,
    dims: [rows, tokens],
    values: Float32Array.from({ length: rows * tokens }, (_, index) => {
      if (/type|segment/i.test(name)) return 0
      const row = first + Math.floor(index / tokens)
      return /mask/i.test(name) ? 1 : (row % 2) + ((index % tokens) % 2)
    }),
  }))
}

const outputNames = [
  'sentence_embedding',
  'text_embeds',
  'last_hidden_state',
  'token_embeddings',
  'pooler_output',
]

function vectorsIn(outputs: readonly TrialOutput[], rows: number): TrialOutput | undefined {
  const fitting = outputs.filter(
    ({ dims }) =>
      dims[0] === rows && (dims.length === 2 || (dims.length === 3 && dims[1] === trialTokenCount)),
  )
  return outputNames.flatMap((name) => fitting.find((output) => output.name === name) ?? [])[0] ?? fitting[0]
}

function outputOf({ outputs, rows }: EncoderTrial, findings: Findings): TrialOutput | null {
  const output = vectorsIn(outputs, rows)
  if (output === undefined) {
    findings.need(
      'text.output',
      'no output of the graph is [N, tokens, dim] or [N, dim] in float32: export last_hidden_state',
    )
    return null
  }
  findings.take(
    'text.output',
    !outputNames.includes(output.name) || output.name === 'pooler_output'
      ? guess(output.name, 'the first output that is [N, tokens, dim] or [N, dim]')
      : read(output.name, 'the name of the output'),
  )
  return output
}

/** What no file states is guessed: the longest row, halved, that the graph takes. */
async function tokensMaxOf(
  { names, sentence, tokenizer, tokenizerFile }: Configs,
  graph: TrialGraph,
  rows: number,
): Promise<Known<number>> {
  const truncation = tokenizerFile?.['truncation'] as Json | null | undefined
  const candidates = [
    [numberIn(sentence, 'max_seq_length'), `max_seq_length in ${names.sentence}`],
    [numberIn(tokenizer, 'model_max_length'), `model_max_length in ${names.tokenizer}`],
    [numberIn(truncation ?? null, 'max_length'), 'truncation in tokenizer.json'],
  ] as const
  for (const [value, source] of candidates)
    if (value !== null && value >= 2 && value < lengthMax)
      return read(Math.min(value, tokensMaxLimit), source)
  for (let count = tokensMaxDefault; count > tokensMin; count /= 2) {
    const error = await graph.run(trialTokens(graph, 0, rows, count)).then(
      () => null,
      (failure: unknown) => failure as Error,
    )
    // The process has ended, so shorter rows cannot be tried.
    if (error !== null && !(error instanceof GraphError))
      return guess(
        tokensMin,
        `no file states it, and a trial of ${count} tokens ended with: ${error.message}`,
      )
    if (error === null) return guess(count, 'no file states it, and the graph takes so many')
  }
  return guess(tokensMin, 'no file states it, and the graph takes no longer row')
}

function templateOf({ names, prompts }: Configs): Known<string> {
  const name = textIn(prompts, 'default_prompt_name')
  const prompt = textIn((prompts?.['prompts'] as Json | undefined) ?? null, name ?? '') ?? ''
  if (prompt !== '')
    return guess(`${prompt}{title}\n{body}`, `the default prompt in ${names.prompts}, then title and body`)
  return guess('{title}\n{body}', 'title and body, a line each')
}

function poolingOf({ names, pooling }: Configs, findings: Findings): 'mean' | 'cls' {
  const stated = textIn(pooling, 'pooling_mode')
  const flags = Object.entries(pooling ?? {})
    .filter(([name, value]) => name.startsWith('pooling_mode_') && value === true)
    .map(([name]) => name.slice('pooling_mode_'.length).replace(/_tokens?$/, ''))
  const modes = stated === null ? flags : [stated]
  const [mode] = modes
  if (modes.length === 1 && (mode === 'mean' || mode === 'cls'))
    return findings.take('text.pooling', read(mode, names.pooling ?? ''))
  if (modes.length === 0)
    return findings.take('text.pooling', guess('mean', 'no 1_Pooling/config.json beside the graph'))
  findings.need(
    'text.pooling',
    `${names.pooling} has ${modes.join(', ')}: only mean and cls exist here, so pool in the graph`,
  )
  return 'mean'
}

function normalizeOf(
  { names, modules, pooling }: Configs,
  findings: Findings,
): Pick<TextManifest, 'normalize'> {
  if (moduleTypes(modules).some((type) => /\.normalize$/i.test(type)))
    return { normalize: findings.take('text.normalize', read(true, `${names.modules} ends in Normalize`)) }
  findings.take(
    'text.normalize',
    modules.length > 0 && pooling !== null
      ? read(false, `${names.modules} has no Normalize`)
      : guess(false, 'no modules.json beside the graph'),
  )
  return {}
}

/** Modules behind the pooling must be part of the graph: as they are if it computes the vector of the library. */
function checkModules({ names, modules }: Configs, output: TrialOutput, findings: Findings): void {
  if (output.name === 'sentence_embedding' && output.dims.length === 2) return
  const others = moduleTypes(modules).filter((type) => !/\.(transformer|pooling|normalize)$/i.test(type))
  if (others.length > 0)
    findings.need(
      'text.output',
      `${names.modules} has ${others.join(', ')}, which the service does not run: export it in the graph, up to sentence_embedding [N, dim]`,
    )
}

function moduleTypes(modules: readonly Json[]): string[] {
  return modules.flatMap((module) => textIn(module, 'type') ?? [])
}

/** Stated only if the service would choose another one. */
function padTokenOf(
  { names, tokenizer, tokenizerFile, model }: Configs,
  bytes: Uint8Array,
  findings: Findings,
): Pick<TextManifest, 'pad_token_id'> {
  const added = (tokenizerFile?.['added_tokens'] ?? []) as readonly { id: number; content: string }[]
  const content = textIn(tokenizer, 'pad_token')
  const token = added.find((each) => each.content === content)?.id
  const id = token ?? numberIn(model, 'pad_token_id')
  if (id === null || id === padTokenIdOf(parseTokenizerFile(bytes))) return {}
  const source = token === undefined ? names.model : names.tokenizer
  return { pad_token_id: findings.take('text.pad_token_id', read(id, source ?? '')) }
}
