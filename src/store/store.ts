/**
 * The durable storage that the service needs. It is intentionally small: LMDB implements it, memory implements it, and a
 * journal in PostgreSQL, with LMDB as a view of it. A write that has resolved survives a power cut, and no read shows a
 * record earlier than that (docs/contract.md). A write that rejects has changed nothing and may be tried again.
 */
import type { ListedCycle } from '../contract/index.js'
import type { WeightsSetting } from '../pool/index.js'

/** The place of a cycle in the order of arrival: 1, 2, 3, … without gaps. */
export type Position = number

export interface StoredRequest {
  readonly encoding: 'identity' | 'gzip' | 'zstd'
  /** The JSON body in that encoding. */
  readonly bytes: Uint8Array
  /** Length of the JSON body itself. */
  readonly bodyBytes: number
}

/** A stored cycle as `tail` gives it. */
export interface StoredCycle extends ListedCycle {
  readonly cycleAtMs: number
}

/** Labels of a stored cycle. */
export type CycleHeader = Omit<StoredCycle, 'position'>

/** The embedding of a text or an image. */
export interface Embedding {
  /** Up to 32 bytes that name what was encoded, unique for one encoder. */
  readonly key: Uint8Array
  readonly vector: Float32Array
}

export interface EncodedTexts {
  /** Hash of the encoder, 64 hex characters. */
  readonly encoder: string
  readonly entries: readonly Embedding[]
}

/** Everything that one cycle makes durable, in one transaction. */
export interface CycleContents extends CycleHeader {
  /** The position for which it was planned; absent: the next one. */
  readonly position?: Position
  readonly request: StoredRequest
  /** Of the bytes of the request, compressed, as 64 hex digits. */
  readonly requestSha256: string
  readonly response: Uint8Array
  /** As 64 hex digits. */
  readonly responseSha256: string
  /** Packed (src/records): the store does not interpret it. It outlives request and response. */
  readonly record: Uint8Array
  /** Vectors of the texts that entered with this cycle. */
  readonly texts: EncodedTexts | null
}

/** Each is SHA-256 as 64 hex digits: see docs/data.md. */
export interface CycleHashes {
  /** Of the request as it is stored. */
  readonly requestSha256: string
  readonly responseSha256: string
  /** Over the hash before it and over request, response, record, weights and the identity of the model. */
  readonly hash: string
}

/** Requests and responses, or records, of all cycles up to a position have ended. */
export interface Expiry {
  readonly ended: 'responses' | 'records'
  readonly through: Position
}

/** A link of the chain: a cycle, or an expiry that followed it while it was the last cycle. */
export interface ChainLink {
  readonly position: Position
  readonly hash: string
  readonly expiry: Expiry | null
}

/** The last cycle whose record has expired, with the hash from which the chain goes on; position 0 and zeros before any has. */
export interface ChainStart {
  readonly position: Position
  readonly hash: string
}

export interface ImageKey {
  readonly gallId: string
  readonly postNo: number
  /** One-based position in the original body. */
  readonly position: number
}

export interface StoredImage {
  /** SHA-256 of the uploaded bytes: an image's identity (docs/contract.md). 32 bytes. */
  readonly sha256: Uint8Array
  readonly uploadedBytes: number
  /** Size of the uploaded image, after its orientation is applied. */
  readonly width: number
  readonly height: number
  /** JPEG of at most 1024 px on the long edge, without metadata. */
  readonly normalised: Uint8Array
  /** Arrival time; defaults to now. */
  readonly arrivedAtMs?: number
}

/**
 * created: stored now. same: stored before with this SHA-256, and counts as having arrived now (exactly: within the
 * last hour). different: another one is stored, and it stays.
 */
export type PutImageResult = 'created' | 'same' | 'different'

export interface OutcomeEntry {
  readonly placementId: string
  /** The record as JSON; it replaces the whole earlier record. */
  readonly record: Uint8Array
  /** When it arrived, to the second. */
  readonly arrivedAtMs: number
}

export interface ModelRecords {
  /** `encoder`: its hash, 64 hex characters. A vector that is already stored is replaced. */
  putEmbeddings(encoder: string, entries: readonly Embedding[]): Promise<void>
  readEmbedding(encoder: string, key: Uint8Array): Float32Array | undefined
  /** Packed scores that a shadow gave a stored cycle. */
  putShadowScores(position: Position, modelVersion: string, scores: Uint8Array): Promise<void>
  readShadowScores(position: Position, modelVersion: string): Uint8Array | undefined
  /** Versions that have shadow scores of a cycle. */
  shadowVersions(position: Position): string[]
  /** Binds a version permanently to the identity of its files, unless it is already bound; returns its identity. */
  claimVersion(modelVersion: string, identity: string): Promise<string>
  /** The identity that a version is tied to. */
  readIdentity(modelVersion: string): string | undefined
}

export interface ImageArrival {
  readonly key: ImageKey
  readonly arrivedAtMs: number
}

/** Some of the records of one kind, in no particular order. */
export interface Page<Row> {
  readonly rows: readonly Row[]
  /** Where the next page begins; null after the last one. */
  readonly cursor: Uint8Array | null
}

/** How records leave the store. Each call that removes is one small transaction. */
export interface ExpiryRecords {
  /** Whether a cycle of this id was once stored and no longer is. */
  isExpired(cycleId: string): boolean
  /** Position of the oldest stored cycle; 1 in an empty store. */
  firstPosition(): Position
  oldestCycles(count: number): Iterable<StoredCycle>
  /** Positions of expired cycles whose request is kept, at most `count`. */
  keptEntries(count: number): Position[]
  /**
   * Removes requests and responses of the oldest cycles, and the vectors of their texts. A saved pool must contain
   * each of them, and the newest cycle must not be among them. `keepEntry`: only the response is removed.
   */
  removeCycles(cycles: readonly { readonly position: Position; readonly keepEntry: boolean }[]): Promise<void>
  removeEntries(positions: readonly Position[]): Promise<void>
  /** The oldest cycles by arrival that have a record. */
  oldestRecords(count: number): Iterable<StoredCycle>
  /** Removes the records and the shadow scores of the oldest cycles. The record of one whose request is kept stays. */
  removeRecords(positions: readonly Position[]): Promise<void>
  /** Up to `count` images. `cursor`: that of the previous page, or null for the first one. */
  imagesAfter(cursor: Uint8Array | null, count: number): Page<ImageArrival>
  /** Keeps images that have arrived again since they were read, and vectors of an image whose bytes another image has. */
  removeImages(images: readonly ImageArrival[]): Promise<ImageKey[]>
  outcomesAfter(cursor: Uint8Array | null, count: number): Page<OutcomeEntry>
  /** Keeps outcomes that were written after they had been read. */
  removeOutcomes(outcomes: readonly OutcomeEntry[]): Promise<void>
}

/** What has changed in the store other than by the writes of this process. */
export interface FollowedChanges {
  /** True when anything may have changed: the records were read again from the first one. */
  readonly isComplete: boolean
  readonly imagesStored: readonly ImageKey[]
  readonly imagesRemoved: readonly ImageKey[]
}

/** The journal, as a process that shares an environment with others knows it. */
export interface Replication {
  /** The newest epoch that the process knows. */
  readonly epoch: number
  /** The newest entry of the journal that the data directory contains. */
  readonly entry: number
  /** Whether commits wait for another server of the database. */
  readonly isSynchronous: boolean
  /** What keeps the process from using the journal; null: nothing. */
  readonly problem: string | null
}

export interface CycleStore {
  /**
   * Stores a cycle and resolves with its position once it is durable. Rejects, with nothing stored, when the id is
   * already stored, when its position is taken, or when storage refuses writes. The bytes of `record` must not change until
   * it has settled.
   */
  appendCycle(cycle: CycleContents): Promise<Position>
  findCycle(cycleId: string): StoredCycle | undefined
  /** Whether there is a cycle at a position. Cheaper than `lastCycle`: no record is read. */
  hasCycle(position: Position): boolean
  /** The cycle that arrived last. */
  lastCycle(): StoredCycle | undefined
  readRequest(position: Position): StoredRequest | undefined
  /** A copy of the stored response, which belongs to the caller. */
  readResponse(cycleId: string): Uint8Array | undefined
  /** Stored cycles from `position` on, in order of arrival. */
  tail(position: Position): Iterable<StoredCycle>
  readRecord(position: Position): Uint8Array | undefined
  /** Cycles that have a record, in order of arrival; request and response of some have expired. */
  recordedCycles(): Iterable<StoredCycle>
  /** The hashes of a cycle that has a record. */
  hashes(position: Position): CycleHashes | undefined
  chainStart(): ChainStart
  /** The links of the chain of hashes after its start, oldest first. */
  chainLinks(): Iterable<ChainLink>
  /** The last link of the chain; undefined in an empty store. */
  chainHead(): ChainLink | undefined
  /**
   * Stores the pool as it was after the cycle at `position`, packed, and removes the other saved pools but the one at `kept`:
   * should one be damaged, the other takes its place. Rejects if the cycle is not stored. Copies the bytes immediately.
   */
  savePool(position: Position, saved: Uint8Array, kept?: Position): Promise<void>
  /** Positions of the cycles after which the pool was saved, newest first: at most two. */
  savedPools(): Position[]
  readSavedPool(position: Position): Uint8Array | undefined
}

export interface ImageRecords {
  putImage(key: ImageKey, image: StoredImage): Promise<PutImageResult>
  /**
   * Whether an image with this SHA-256 is stored under the key. It then counts as having arrived now, as with the result
   * `same` of `putImage`.
   */
  confirmImage(key: ImageKey, sha256: Uint8Array): Promise<boolean>
  /** As it was stored, without its arrival time: storing it again is a new arrival. */
  findImage(key: ImageKey): StoredImage | undefined
  /** SHA-256 of a stored image, without its bytes. */
  readImageHash(key: ImageKey): Uint8Array | undefined
  /** Positions of the stored images of one post, ascending. */
  imagePositions(gallId: string, postNo: number): number[]
  /** Keys of all stored images, in no particular order. */
  imageKeys(): Iterable<ImageKey>
}

export interface WeightsRecords {
  /** Appends to the history of weights, numbered 1, 2, 3, …. Rejects if `number` is not the next one. */
  appendWeights(number: number, entry: WeightsSetting): Promise<void>
  /** All weights ever set, oldest first. */
  listWeights(): Iterable<WeightsSetting>
}

export interface OutcomeRecords {
  /** Stores outcome records in one transaction; of two with one placement id, the later stays. */
  putOutcomes(entries: readonly OutcomeEntry[]): Promise<{ created: number; updated: number }>
  readOutcome(placementId: string): Uint8Array | undefined
  /** All outcomes, in no particular order. */
  outcomes(): Iterable<OutcomeEntry>
}

/** How a process shares its environment with others. */
export interface EnvironmentRole {
  /** Null without a journal. */
  readonly replication: Replication | null
  /**
   * Whether this process may serve requests. Without a journal it is always the owner; with one, the processes of an
   * environment are its owner and its standbys.
   */
  readonly role: 'owner' | 'standby'
  /** Whether writes are allowed: by the owner, and while this process prepares to be the owner. */
  readonly mayWrite: boolean
  /**
   * Calls `listener` after records of another process were read, and before this process becomes the owner, which waits for
   * the promise; writes are allowed then.
   */
  onFollowed(listener: (changes: FollowedChanges) => Promise<void>): void
}

export interface Store extends EnvironmentRole, CycleStore, ImageRecords, WeightsRecords, OutcomeRecords {
  readonly models: ModelRecords
  readonly expiry: ExpiryRecords
  /**
   * False from a write that storage refused until a cycle, or a write of at least the same size, is stored; and permanently
   * once the store refuses all writes until a restart.
   */
  readonly healthy: boolean
  /** Writes that wait and that are being committed; their bytes are bounded. */
  readonly queuedWrites: number
  readonly closed: boolean
  /** Waits for writes under way, then closes. No call is allowed after it. */
  close(): Promise<void>
}
