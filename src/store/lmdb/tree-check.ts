/**
 * Checks the trees of a database file before LMDB maps it. LMDB trusts the headers of pages: a flipped bit in a page of
 * a tree may crash the process, hide records, or make a later write overwrite existing records. Records have checksums
 * (records/envelope.ts); this file checks the pages around them: each page matches its parent, is referenced once and is not in
 * the list of free pages; its nodes fill it without gaps; keys ascend; and the counts of pages and entries match those
 * that the tree records.
 */
import { fstatSync } from 'node:fs'
import { viewOf } from '../../base/index.js'
import { canUpgrade, layoutOf, schemaKey, schemaVersion, schemaVersionOf } from '../records/index.js'
import {
  dataBytesOf,
  headBytes,
  metaBytes,
  nodeFlag,
  numberKeys,
  pageKind,
  readAt,
  readHead,
  readLarge,
  readMeta,
  readNodes,
  readTree,
  treeBytes,
  type Meta,
  type Node,
  type PageHead,
  type Tree,
} from './page-layout.js'

/** LMDB's limit (CURSOR_STACK). */
const depthMax = 32
const metaPages = 2
/** Databases of a file: sorted by bytes, or by number. None has more than one value for a key. */
const treeFlags: readonly number[] = [0, numberKeys]
const treeFlagsMask = 0x7f

/** If a commit arrives during each of these attempts, the file has a server, which has checked it at startup. */
const attemptsMax = 4

/** Thrown within this file only. */
class Damage extends Error {}

export interface TreeCheck {
  /** A descriptor of the open file. */
  readonly file: number
  readonly pageBytes: number
  /** Time limit for reading the headers of large records, one read each. */
  readonly headsMsMax: number
}

/**
 * What is wrong with the trees of a file, as `treeDamage` returns it. A server may write to the file: a problem counts if no
 * commit happened during the check, or if every attempt finds it.
 */
export function checkTrees({ file, pageBytes, headsMsMax }: TreeCheck): string | null {
  return agreedProblem(
    () => treeDamage(file, headsMsMax),
    () => Buffer.concat([readAt(file, 0, metaBytes), readAt(file, pageBytes, metaBytes)]),
  )
}

/**
 * The problem that `check` finds, or null. The first result counts if `metaPages` are the same before and after it;
 * otherwise `attemptsMax` attempts must find the same problem, because a check during a commit may see half of it.
 */
export function agreedProblem(check: () => string | null, metaPages: () => Uint8Array): string | null {
  const problems = new Set<string>()
  for (let count = 0; count < attemptsMax; count++) {
    const before = metaPages()
    const problem = check()
    if (problem === null || Buffer.compare(before, metaPages()) === 0) return problem
    problems.add(problem)
  }
  const [problem = null] = problems
  return problems.size === 1 ? problem : null
}

/**
 * Returns what is wrong with the trees of the newest state of an open database file, as the end of a sentence that begins
 * with its name, or null. The result may be wrong if another process writes to the file at the same time. `headsMsMax`: time
 * limit for reading the headers of large records, one read each.
 */
function treeDamage(file: number, headsMsMax: number): string | null {
  try {
    new TreeWalk(file, newestMeta(file)).check(headsMsMax)
    return null
  } catch (error) {
    if (error instanceof Damage) return `is damaged; restore it from a backup: ${error.message}`
    throw error
  }
}

/** The meta page that LMDB uses, which must be the newer one of two consecutive commits. */
function newestMeta(file: number): Meta {
  const first = readMeta(readAt(file, 0, metaBytes))
  const second = first && readMeta(readAt(file, first.pageBytes, metaBytes))
  if (first === null || second === null) throw new Damage('one of its two meta pages is invalid')
  const [newest, other] = second.transaction > first.transaction ? [second, first] : [first, second]
  // In a new file, and in a copy, one meta page is that of an empty database.
  const isFirst = other.transaction === 0n && other.lastPage === metaPages - 1
  // Commits write the two meta pages in turn, by parity, so that the previous one remains.
  const isInPlace = (newest.transaction & 1n) === (newest === second ? 1n : 0n)
  if (!isFirst && !(isInPlace && other.transaction === newest.transaction - 1n))
    throw new Damage(
      `its meta pages are of the commits ${first.transaction} and ${second.transaction}, which are not consecutive`,
    )
  // The field also has flags with which the environment was opened.
  const { free, databases } = newest
  const areFlagsSound = (free.flags & treeFlagsMask) === numberKeys
  if (
    newest.address !== 0n ||
    newest.pageBytes !== other.pageBytes ||
    !areFlagsSound ||
    databases.flags !== 0
  )
    throw new Damage('its meta pages have values that this program never writes')
  return { ...newest, free: { ...free, flags: numberKeys } }
}

/** What a walk counts, and its name in messages. */
const countNames = {
  branchPages: 'branch pages',
  leafPages: 'leaf pages',
  overflowPages: 'pages of large records',
  entries: 'entries',
} as const
type Count = keyof typeof countNames

interface Walk {
  readonly tree: Tree
  readonly name: string
  readonly tally: Record<Count, number>
  readonly onLeafNode: (node: Node, page: Uint8Array) => void
}

/** A page with its subtree. */
interface Part {
  readonly number: number
  /** 1 for the root. */
  readonly level: number
  /** Every key is at least `from` and less than `below`. */
  readonly from: Uint8Array | null
  readonly below: Uint8Array | null
}

class TreeWalk {
  readonly #file: number
  readonly #fileBytes: number
  readonly #meta: Meta
  /** One bit for each page that was visited. */
  readonly #visited: Uint8Array
  /** First pages of large records, and the page counts in their nodes. */
  readonly #large: { readonly page: number; readonly pageCount: number }[] = []

  readonly #names: string[] = []
  /** The record with the schema version. */
  #schema: Uint8Array | null = null

  constructor(file: number, meta: Meta) {
    this.#file = file
    this.#meta = meta
    this.#fileBytes = fstatSync(file).size
    this.#visited = new Uint8Array(Math.ceil((meta.lastPage + 1) / 8))
    for (let page = 0; page < metaPages; page++) this.#visit(page, 'the meta pages')
  }

  /** Throws `Damage`. */
  check(headsMsMax: number): void {
    this.#checkTree(this.#meta.databases, 'the list of databases', (node) => this.#checkDatabase(node))
    this.#checkNames()
    const freeLists: Uint8Array[] = []
    this.#checkTree(this.#meta.free, 'the list of free pages', (node, page) => {
      if (node.key.length !== 8 || viewOf(node.key).getBigUint64(0, true) > this.#meta.transaction)
        throw new Damage('the list of free pages: an entry without a valid commit')
      freeLists.push(this.#readData(node, page))
    })
    for (const list of freeLists) this.#checkFree(list)
    this.#checkLargeHeads(headsMsMax)
  }

  /**
   * Under a damaged name, the old database would be opened as an empty one. Without `meta` it is another program's file, and the
   * databases of another version are unknown: both are refused when LMDB has opened the file.
   */
  #checkNames(): void {
    if (!this.#names.includes('meta')) return
    const version = this.#schema === null ? schemaVersion : schemaVersionOf(this.#schema)
    if (version !== schemaVersion && !canUpgrade(version)) return
    const unknown = this.#names.find((name) => !Object.hasOwn(layoutOf(version), name))
    if (unknown !== undefined)
      throw new Damage(
        `it has a database ${JSON.stringify(unknown)}, which no file of its schema version has`,
      )
  }

  #checkDatabase({ flags, key, data }: Node): void {
    const name = Buffer.from(key).toString('latin1').replace(/\0$/, '')
    if (flags !== nodeFlag.tree || data.length !== treeBytes)
      throw new Damage(`the entry of the database ${JSON.stringify(name)} is invalid`)
    this.#names.push(name)
    this.#checkTree(readTree(data), name, (node) => {
      if (name === 'meta' && schemaKey.equals(node.key)) this.#schema = Uint8Array.from(node.data)
    })
  }

  #checkTree(tree: Tree, name: string, onLeafNode: (node: Node, page: Uint8Array) => void): void {
    if (!treeFlags.includes(tree.flags)) throw new Damage(`${name}: unknown flags ${tree.flags}`)
    const tally = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 }
    if (tree.root !== null)
      this.#walk({ tree, name, tally, onLeafNode }, { number: tree.root, level: 1, from: null, below: null })
    else if (tree.depth !== 0) throw new Damage(`${name}: a tree of depth ${tree.depth} without a root`)
    for (const count of Object.keys(countNames) as Count[])
      if (tree[count] !== tally[count])
        throw new Damage(`${name}: ${tally[count]} ${countNames[count]} instead of ${tree[count]}`)
  }

  #walk(walk: Walk, part: Part): void {
    const { tree, name, tally, onLeafNode } = walk
    const { number, level } = part
    const isLeaf = level === tree.depth
    if (level > Math.min(tree.depth, depthMax)) throw new Damage(`${name}: deeper than ${tree.depth}`)
    this.#visit(number, name)
    const page = readAt(this.#file, number * this.#meta.pageBytes, this.#meta.pageBytes)
    const nodes = this.#nodesOf(page, number, isLeaf ? pageKind.leaf : pageKind.branch, name)
    this.#checkKeys(isLeaf ? nodes : nodes.slice(1), tree, part, `${name}, page ${number}`)
    if (isLeaf) {
      tally.leafPages++
      tally.entries += nodes.length
      for (const node of nodes) {
        if (node.flags === nodeFlag.large) tally.overflowPages += this.#visitLarge(node, page, name)
        else if (node.flags !== 0 && node.flags !== nodeFlag.tree)
          throw new Damage(`${name}, page ${number}: unknown flags of an entry`)
        onLeafNode(node, page)
      }
      return
    }
    tally.branchPages++
    for (const [index, { key, child }] of nodes.entries()) {
      const from = index === 0 ? part.from : key
      const below = nodes[index + 1]?.key ?? part.below
      this.#walk(walk, { number: child, level: level + 1, from, below })
    }
  }

  #nodesOf(page: Uint8Array, number: number, kind: number, name: string): Node[] {
    const head = readHead(page)
    this.#checkHead(head, number, kind, name)
    const { lower, upper } = head
    const room = page.length - headBytes
    const count = lower >> 1
    if (lower % 2 !== 0 || lower > upper || upper > room || count < (kind === pageKind.branch ? 2 : 1))
      throw new Damage(`${name}, page ${number}: bounds ${lower} and ${upper}`)
    const nodes = readNodes(page, head)
    let end = headBytes + upper
    for (const node of nodes?.toSorted((a, b) => a.start - b.start) ?? []) {
      if (node.start !== end) end = Infinity
      else end = node.end
    }
    if (end !== page.length) throw new Damage(`${name}, page ${number}: its entries do not fill it`)
    return nodes!
  }

  #checkHead(
    { number: recorded, transaction, flags }: PageHead,
    number: number,
    kind: number,
    name: string,
  ): void {
    if (recorded !== number || flags !== kind || transaction > this.#meta.transaction)
      throw new Damage(`${name}, page ${number}: not the expected page`)
  }

  /** `nodes`: of a branch those after the first, whose key is empty and sorts before all others. */
  #checkKeys(nodes: readonly Node[], tree: Tree, { from, below }: Part, pageName: string): void {
    const compare = tree.flags === numberKeys ? compareNumbers : compareBytes
    let before = from
    let mayEqual = true
    for (const { key } of nodes) {
      if (tree.flags === numberKeys && key.length !== 4 && key.length !== 8)
        throw new Damage(`${pageName}: a key of ${key.length} bytes`)
      const order = before === null ? -1 : compare(before, key)
      if (order > 0 || (order === 0 && !mayEqual) || (below !== null && compare(key, below) >= 0))
        throw new Damage(`${pageName}: its keys are not in order`)
      before = key
      mayEqual = false
    }
  }

  /** Returns the number of its pages. */
  #visitLarge(node: Node, page: Uint8Array, name: string): number {
    const large = readLarge(node)
    const { pageBytes } = this.#meta
    const pageCountMin = Math.floor((headBytes - 1 + dataBytesOf(page, node)) / pageBytes) + 1
    // It may have more pages than it needs if it replaced a longer record in the same transaction.
    if (large.pageCount < pageCountMin)
      throw new Damage(`${name}: a record of ${dataBytesOf(page, node)} bytes on ${large.pageCount} pages`)
    // A read of the map beyond the end of the file would kill the process with SIGBUS.
    if (large.page * pageBytes + headBytes + dataBytesOf(page, node) > this.#fileBytes)
      throw new Damage(`${name}: a record ends beyond the end of the file`)
    for (let offset = 0; offset < large.pageCount; offset++) this.#visit(large.page + offset, name)
    this.#large.push(large)
    return large.pageCount
  }

  #checkLargeHeads(msMax: number): void {
    const until = performance.now() + msMax
    // In the order of the file, to shorten the seeks of a disk.
    for (const { page, pageCount } of this.#large.sort((a, b) => a.page - b.page)) {
      if (performance.now() > until) return
      const head = readHead(readAt(this.#file, page * this.#meta.pageBytes, headBytes))
      this.#checkHead(head, page, pageKind.overflow, 'a large record')
      if (head.pageCount !== pageCount)
        throw new Damage(`a large record, page ${page}: ${head.pageCount} pages instead of ${pageCount}`)
    }
  }

  #readData(node: Node, page: Uint8Array): Uint8Array {
    if (node.flags !== nodeFlag.large) return node.data
    const start = readLarge(node).page * this.#meta.pageBytes + headBytes
    return readAt(this.#file, start, dataBytesOf(page, node))
  }

  /** `list`: a count, then that many numbers: a page, or a negative count followed by the first of as many pages, or 0. */
  #checkFree(list: Uint8Array): void {
    const view = viewOf(list)
    const count = list.length < 8 ? -1 : Number(view.getBigInt64(0, true))
    if (list.length % 8 !== 0 || count < 0 || count > list.length / 8 - 1)
      throw new Damage(`the list of free pages: ${count} numbers in ${list.length} bytes`)
    let pageCount = 1
    for (let index = 1; index <= count; index++) {
      const value = Number(view.getBigInt64(8 * index, true))
      if (value < 0) pageCount = -value
      else {
        for (let offset = 0; value > 0 && offset < pageCount; offset++)
          this.#visit(value + offset, 'the list of free pages')
        pageCount = 1
      }
    }
  }

  #visit(page: number, name: string): void {
    const byte = page >> 3
    if (page > this.#meta.lastPage) throw new Damage(`${name}: page ${page} is beyond the last one`)
    const bit = 1 << (page & 7)
    const visited = this.#visited[byte]!
    if ((visited & bit) !== 0) throw new Damage(`${name}: page ${page} is used twice`)
    this.#visited[byte] = visited | bit
  }
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b)
}

function compareNumbers(a: Uint8Array, b: Uint8Array): number {
  return a.length === b.length ? Buffer.compare(Buffer.from(a).reverse(), Buffer.from(b).reverse()) : 1
}
