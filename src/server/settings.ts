/**
 * What an operator may set of the server. A `Settings` value is complete, checked and frozen: the command line
 * reads it at the start and at SIGHUP (`src/cli/settings-table.ts` has names, rules and defaults), the server only
 * uses it.
 */
import type { Weights } from '../contract/index.js'

/** Levels of pino, from quiet to talkative. */
export type LogLevel = 'silent' | 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

export interface Settings {
  /** Address to listen on. */
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** Absolute path. */
  readonly dataDir: string
  /** Absolute path. */
  readonly modelsDir: string
  /** Keys that are accepted, at least one: visible ASCII without commas. */
  readonly apiKeys: readonly string[]
  /** Absolute paths of PEM files; both or neither. Without them the server speaks plain HTTP. */
  readonly tlsCertFile?: string
  readonly tlsKeyFile?: string
  /** How far ahead of the clock a `cycle_time` may be (decisions.md 4). */
  readonly clockSkewMs: number
  /** Cycles that wait for their turn; one more is answered 503. */
  readonly cyclesWaitingMax: number
  /** Connections open at a time; one more is closed at once. */
  readonly connectionsMax: number
  /** The same for one address, where the shim of `native/` is loaded; this machine's own addresses are not counted. */
  readonly connectionsPerAddressMax: number
  /** Reverse proxies whose entries in `X-Forwarded-For` are believed: the last so many. */
  readonly trustedProxyCount: number
  /** Wrong keys of one client in a minute that are answered at once. */
  readonly wrongKeysPerMinuteMax: number
  /** What later ones wait for their answer. */
  readonly wrongKeyDelayMs: number
  /** From the end of a request's head to the last byte of its body. */
  readonly bodyReadMsMax: number
  /** From the signal to the end (decisions.md 40). */
  readonly shutdownMsMax: number
  /** ONNX Runtime execution providers in order of preference. */
  readonly executionProviders: readonly string[]
  /** Threads of one ONNX Runtime session. Absent: what the model's manifest says, else the model's own default. */
  readonly intraOpThreads?: number
  /** Steps of nice by which the event loop and processes of models go ahead of other programs, where the system allows it. */
  readonly priorityLead: number
  /** One batch through the model. */
  readonly predictMsMax: number
  /** Resident memory of one process of a model; past it the process is replaced. */
  readonly modelProcessBytesMax: number
  /** For the texts of the posts that enter with one cycle; past it they are scored without. */
  readonly textEncodeMsMax: number
  /** Bytes of request bodies held at a time, all requests together, plain and unpacked; a body past them is answered 503. */
  readonly bodiesBytesMax: number
  /** Bytes of uploaded images that wait for their turn to be decoded; an upload past them is answered 503. */
  readonly imagesWaitingBytesMax: number
  /** Images decoded at a time. */
  readonly imageConcurrency: number
  /** Days that records are kept; 0: for ever. Cycles and requests; images; outcomes. */
  readonly retainCyclesDays: number
  readonly retainImagesDays: number
  readonly retainOutcomesDays: number
  readonly logLevel: LogLevel
  /** auto: native where its addon loads, else the reference implementation. */
  readonly codec: 'auto' | 'native' | 'reference'
  /** Where stage timings are written at the end; without it none are summed up. */
  readonly stageReport?: string
  /** Weights in force until others are put. */
  readonly initialWeights: { readonly version: string; readonly weights: Readonly<Weights> }
}
