/**
 * The server's settings. A `Settings` value is complete, validated and frozen. The command line reads it at the start and
 * at SIGHUP; `src/cli/settings-table.ts` has the names, rules, defaults and descriptions.
 */
import type { Weights } from '../contract/index.js'

/** Log levels of pino, from the least to the most detailed. */
export type LogLevel = 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

export interface Settings {
  /** Address to listen on. */
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** Absolute path. */
  readonly dataDir: string
  /** Absolute path. */
  readonly modelsDir: string
  /** Accepted keys, at least one: visible ASCII without commas. */
  readonly apiKeys: readonly string[]
  /** Absolute paths of PEM files, both or neither. Without them the server uses plain HTTP. */
  readonly tlsCertFile?: string
  readonly tlsKeyFile?: string
  /** How far ahead of the clock a `cycle_time` may be (decisions.md 4). */
  readonly clockSkewMs: number
  /** Cycles that may wait behind the one being processed. The next one gets 503. */
  readonly cyclesWaitingMax: number
  /** Open connections. The next one is closed at once. */
  readonly connectionsMax: number
  /** From the end of a request's head to the last byte of its body. */
  readonly bodyReadMsMax: number
  /** From SIGTERM to the end of the process (decisions.md 40). */
  readonly shutdownMsMax: number
  /** ONNX Runtime execution providers in order of preference. */
  readonly executionProviders: readonly string[]
  /** Threads of one ONNX Runtime session. Absent: the manifest's number, else the model's default. */
  readonly intraOpThreads?: number
  /** Time limit of one run of the model. */
  readonly predictMsMax: number
  /** Largest median time of a batch of 5000 rows. A slower version fails verification. */
  readonly modelLatencyMsMax: number
  /** Resident memory of one model process. A process that exceeds it is replaced. */
  readonly modelProcessBytesMax: number
  /** Time for encoding the texts of the posts that enter with one cycle. After it they are scored without embeddings. */
  readonly textEncodeMsMax: number
  /**
   * Bytes of request bodies, compressed and decompressed, that all requests together hold in memory; and the same again
   * for responses. A request that exceeds it gets 503. Images that wait to be decoded may take half of it.
   */
  readonly bodiesBytesMax: number
  /** Images decoded at a time. */
  readonly imageConcurrency: number
  /** Days that records are kept; 0 keeps them forever. Cycles with their requests, images, outcomes. */
  readonly retainCyclesDays: number
  readonly retainImagesDays: number
  readonly retainOutcomesDays: number
  readonly logLevel: LogLevel
  /** auto: the native codec where its addon loads, else the reference codec. */
  readonly codec: 'auto' | 'native' | 'reference'
  /** Weights until the first `PUT /v1/weights`. */
  readonly initialWeights: { readonly version: string; readonly weights: Readonly<Weights> }
}
