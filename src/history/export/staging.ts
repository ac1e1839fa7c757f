/**
 * Stages rows in DuckDB, in memory, and writes them to Parquet files: DIR/TABLE/day=YYYY-MM-DD/PART.parquet. Read `append` and
 * `flush` first. DuckDB is loaded when a staging opens: no other command needs it.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type * as Duck from '@duckdb/node-api'
import type { DuckDBAppender, DuckDBConnection, DuckDBInstance, DuckDBType } from '@duckdb/node-api'
import { dayMs } from '../../base/index.js'
import { assert, type GalleryIds, type KeyColumns, kstOffsetMs, parseInstant } from '../../contract/index.js'
import { PostMap } from '../../pool/index.js'
import type { StoredCycle } from '../../store/index.js'
import { tableNames, tableWith, type ExportTable, type StagedColumns, type TableName } from './schema.js'

/**
 * DuckDB in memory. It writes what exceeds its memory limit to `scratch`; by default that would be the working directory.
 * It never fetches anything: the extensions that are needed are part of the package.
 */
export function createDuck(duck: typeof Duck, scratch: string): Promise<DuckDBInstance> {
  return duck.DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    memory_limit: '1GB',
    temp_directory: scratch,
    threads: '2',
  })
}

/** Folder for rows that exceed the memory limit while the export is written. */
const spillName = '.spill'

/** A staged column: numbers with NaN for null, or texts. */
export type StagedValues = Float32Array | Float64Array | Int32Array | Uint8Array | readonly (string | null)[]
/** A staged row: what is absent is null, an instant may be a string, and what else is staged as a string is JSON. */
export type StagedRow = Readonly<Record<string, unknown>>

/** DuckDB's vectors have this many rows. */
const chunkRows = 2048
/** Numbers that are staged before they are written: about 100 MB. */
const stagedValuesMax = 12_000_000

export interface StagingOptions {
  readonly directory: string
  /** Columns of `scores`. */
  readonly features: readonly string[]
  /** Rows of other tables are dropped. Absent: all. */
  readonly tables?: readonly TableName[]
}

export class Staging {
  readonly #duck: typeof Duck
  readonly #connection: DuckDBConnection
  /** A connection runs one statement at a time: files are written on their own. */
  readonly #writer: DuckDBConnection
  readonly #directory: string
  readonly #tables: ReadonlyMap<TableName, ExportTable>
  readonly #appenders = new Map<string, DuckDBAppender>()
  /** Rows that wait until they fill a chunk. */
  readonly #waiting = new Map<TableName, StagedRow[]>()
  readonly #rowCounts = new Map<TableName, number>()
  readonly #postNumbers = new PostMap<string, number>()
  #postCount = 0
  #stagedValues = 0
  #generation = 0
  #writing: Promise<void> = Promise.resolve()

  private constructor(
    duck: typeof Duck,
    connections: readonly [rows: DuckDBConnection, files: DuckDBConnection],
    { directory, features, tables = tableNames }: StagingOptions,
  ) {
    this.#duck = duck
    ;[this.#connection, this.#writer] = connections
    this.#directory = directory
    this.#tables = new Map(tables.map((name) => [name, tableWith(name, features)]))
  }

  static async open(options: StagingOptions): Promise<Staging> {
    const duck = await import('@duckdb/node-api')
    const instance = await createDuck(duck, join(options.directory, spillName))
    const connections = [await instance.connect(), await instance.connect()] as const
    const staging = new Staging(duck, connections, options)
    await staging.#create('posts', { id: 'INTEGER', gall_id: 'VARCHAR', post_no: 'BIGINT' })
    await staging.#create('positions', {
      id: 'INTEGER',
      cycle_id: 'VARCHAR',
      cycle_ms: 'DOUBLE',
      received_ms: 'DOUBLE',
      model_version: 'VARCHAR',
      weights_version: 'VARCHAR',
    })
    for (const [name, { staged }] of staging.#tables) await staging.#createStage(name, staged)
    return staging
  }

  /** The number of a post, under which staged rows name it. */
  postNumber(gallId: string, postNo: number): number {
    const known = this.#postNumbers.get(gallId, postNo)
    if (known !== undefined) return known
    const number = this.#postCount++
    this.#postNumbers.set(gallId, postNo, number)
    const appender = this.#appender('posts')
    appender.appendInteger(number)
    appender.appendVarchar(gallId)
    appender.appendBigInt(BigInt(postNo))
    appender.endRow()
    return number
  }

  /** The numbers of the posts of some rows. */
  postNumbers({ count, gallery, postNo }: KeyColumns, galleries: GalleryIds): Int32Array {
    return Int32Array.from({ length: count }, (_, row) =>
      this.postNumber(galleries[gallery[row]!]!, postNo[row]!),
    )
  }

  /** Names a cycle for staged rows. */
  addPosition({ position, cycleId, cycleAtMs, receivedAt, modelVersion, weightsVersion }: StoredCycle): void {
    const appender = this.#appender('positions')
    appender.appendInteger(position)
    appender.appendVarchar(cycleId)
    appender.appendDouble(cycleAtMs)
    appender.appendDouble(Date.parse(receivedAt))
    appender.appendVarchar(modelVersion)
    appender.appendVarchar(weightsVersion)
    appender.endRow()
  }

  add(name: TableName, row: StagedRow): void {
    if (!this.#tables.has(name)) return
    const rows = this.#waiting.get(name) ?? []
    rows.push(row)
    this.#waiting.set(name, rows)
    if (rows.length === chunkRows) this.#appendWaiting(name)
  }

  #appendWaiting(name: TableName): void {
    const rows = this.#waiting.get(name) ?? []
    this.#waiting.delete(name)
    const columns = Object.entries(this.#tables.get(name)?.staged ?? {}).map(([column, type]) => {
      const values = rows.map((row) => row[column] ?? null)
      return [column, type === 'VARCHAR' ? values.map(textOf) : Float64Array.from(values, numberOf)] as const
    })
    this.append(name, rows.length, Object.fromEntries(columns))
  }

  /** Stages rows. `columns` has an entry for each staged column of the table. */
  append(name: TableName, count: number, columns: Readonly<Record<string, StagedValues>>): void {
    const table = this.#tables.get(name)
    if (count === 0 || table === undefined) return
    const staged = Object.entries(table.staged)
    const values = staged.map(([column]) => {
      const columnValues = columns[column]
      assert(columnValues?.length === count, `${name}.${column} has a value for each row`)
      return columnValues
    })
    const types = staged.map(([, type]) => this.#typeOf(type))
    const appender = this.#appender(stageOf(name, this.#generation))
    for (let from = 0; from < count; from += chunkRows) {
      const to = Math.min(count, from + chunkRows)
      const chunk = this.#duck.DuckDBDataChunk.create(types, to - from)
      // A chunk reads its values by index: a typed array needs no copy.
      for (const [index, column] of values.entries())
        chunk.setColumnValues(index, slice(column, from, to) as unknown as readonly number[])
      appender.appendDataChunk(chunk)
    }
    this.#rowCounts.set(name, (this.#rowCounts.get(name) ?? 0) + count)
    this.#stagedValues += count * types.length
  }

  /** Whether enough is staged to be written. */
  get isFull(): boolean {
    return this.#stagedValues >= stagedValuesMax
  }

  /** Rows so far, by table. */
  get rowCounts(): Readonly<Record<string, number>> {
    return Object.fromEntries(tableNames.map((name) => [name, this.#rowCounts.get(name) ?? 0]))
  }

  /**
   * Begins to write what is staged, one file per table and day; rows that are appended meanwhile belong to the next part.
   * Resolves when the rows of the call before are written.
   */
  async flush(): Promise<void> {
    await this.#writing
    for (const name of this.#waiting.keys()) this.#appendWaiting(name)
    const generation = this.#generation++
    for (const appender of this.#appenders.values()) appender.flushSync()
    for (const [name, { staged }] of this.#tables) {
      const stage = stageOf(name, generation)
      this.#appenders.get(stage)?.closeSync()
      this.#appenders.delete(stage)
      await this.#createStage(name, staged)
    }
    this.#stagedValues = 0
    this.#writing = this.#writeStaged(generation)
    // Until it is awaited, a failure is not unhandled.
    this.#writing.catch(() => undefined)
  }

  async writeAll(): Promise<void> {
    await this.flush()
    await this.#writing
  }

  /** Closes DuckDB; rows that are not written are lost. */
  close(): void {
    for (const appender of this.#appenders.values()) appender.closeSync()
    this.#appenders.clear()
    this.#writer.interrupt()
    this.#connection.closeSync()
    this.#writer.closeSync()
    rmSync(join(this.#directory, spillName), { recursive: true, force: true })
  }

  async #writeStaged(generation: number): Promise<void> {
    for (const [name, table] of this.#tables) {
      const stage = stageOf(name, generation)
      const counted = await this.#writer.runAndReadAll(`select count(*) from ${stage}`)
      if (Number(counted.getRows()[0]?.[0]) > 0) await this.#write(name, table, { stage, generation })
      await this.#writer.run(`drop table ${stage}`)
    }
  }

  #write(
    name: TableName,
    { columns, staged, timestampSql }: ExportTable,
    { stage, generation }: { readonly stage: string; readonly generation: number },
  ): Promise<unknown> {
    const joins = [
      'post' in staged ? 'left join posts p on p.id = s.post' : '',
      'position' in staged ? 'left join positions c on c.id = s.position' : '',
      'entered' in staged ? 'left join positions e on e.id = s.entered' : '',
    ]
    const day = `date '1970-01-01' + cast(floor((${timestampSql} + ${kstOffsetMs}) / ${dayMs}) as integer)`
    const selected = columns.map((column) => `${column.sql} as "${column.name}"`).join(', ')
    return this.#writer.run(
      `copy (select ${selected}, ${day} as day from ${stage} s ${joins.join(' ')})
       to ${quote(join(this.#directory, name))} (format parquet, partition_by (day), overwrite_or_ignore,
       filename_pattern '${generation}-{i}', compression zstd, compression_level 1, row_group_size 40960)`,
    )
  }

  #createStage(name: TableName, staged: StagedColumns): Promise<void> {
    return this.#create(stageOf(name, this.#generation), staged)
  }

  async #create(table: string, columns: Readonly<Record<string, string>>): Promise<void> {
    const list = Object.entries(columns).map(([name, type]) => `"${name}" ${type}`)
    await this.#connection.run(`create table ${table} (${list.join(', ')})`)
    this.#appenders.set(table, await this.#connection.createAppender(table))
  }

  #appender(table: string): DuckDBAppender {
    const appender = this.#appenders.get(table)
    assert(appender !== undefined, 'every staged table has an appender')
    return appender
  }

  #typeOf(type: StagedColumns[string]): DuckDBType {
    const { DOUBLE, FLOAT, INTEGER, VARCHAR } = this.#duck
    return { DOUBLE, FLOAT, INTEGER, VARCHAR }[type]
  }
}

function stageOf(name: TableName, generation: number): string {
  return `staged_${name}_${generation}`
}

function slice(values: StagedValues, from: number, to: number): StagedValues {
  return ArrayBuffer.isView(values) ? values.subarray(from, to) : values.slice(from, to)
}

function textOf(value: unknown): string | null {
  return value === null || typeof value === 'string' ? value : JSON.stringify(value)
}

function numberOf(value: unknown): number {
  if (typeof value === 'string') return instantOf(value)
  return value === null ? NaN : Number(value)
}

/** Milliseconds since 1970 with a fraction. */
export function instantOf(text: string): number {
  const instant = parseInstant(text)
  return instant === null ? NaN : instant.ms + instant.fraction
}

/** Quotes a string as an SQL literal. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
