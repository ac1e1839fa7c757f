/**
 * Pages of an LMDB file as lmdb-js 3.5.6 writes them, read without LMDB. Numbers are little endian.
 *
 *   page    0 number [8] · 8 transaction [8] · 18 flags [2] · 20 lower [2] · 22 upper [2] · 24 …
 *           overflow: 20 count of pages [4]
 *           branch and leaf: 24 … offsets of nodes, 2 bytes each, counted from byte 24, by ascending key; free room from
 *           `lower` to `upper`; nodes from `upper` to the end, without gaps
 *   node    0 size of the data, or in a branch a page [4] · 4 flags, or in a branch the page's high bytes [2]
 *           6 size of the key [2] · 8 key · data; of a large record, whose data is on separate pages:
 *           page [8], transaction [8], count of pages [8]
 *   tree    4 flags [2] · 6 depth [2] · 8 branch, 16 leaf, 24 overflow pages [8 each] · 32 entries [8] · 40 root [8]
 *   meta    a page of which byte 24 … is: magic number [4] · version [4] · address [8] · bytes of the map [8] ·
 *           tree of free pages [48], in whose first 4 bytes the page size is · tree of databases [48] ·
 *           last page in use [8] · transaction [8]
 */
import { readSync } from 'node:fs'
import { viewOf } from '../../base/index.js'

const magic = 0xbeefc0de
/** The version has it in its low 16 bits. */
const formatVersion = 2
const pageBytesMin = 256
const pageBytesMax = 65_536

export const headBytes = 24
export const treeBytes = 48
export const metaBytes = 160
const nodeHeadBytes = 8
const largeBytes = 24

export const pageKind = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const
export const nodeFlag = { large: 1, tree: 2 } as const
/** Keys are numbers, little endian. */
export const numberKeys = 8
/** The root of an empty tree. */
const noPage = 0xffff_ffff_ffff_ffffn

export interface Tree {
  readonly flags: number
  readonly depth: number
  readonly branchPages: number
  readonly leafPages: number
  readonly overflowPages: number
  readonly entries: number
  /** Null in an empty tree. */
  readonly root: number | null
}

export interface Meta {
  readonly address: bigint
  readonly pageBytes: number
  readonly free: Tree
  readonly databases: Tree
  readonly lastPage: number
  readonly transaction: bigint
}

export interface PageHead {
  readonly number: number
  readonly transaction: bigint
  readonly flags: number
  /** Lower bound of the free space of a branch or leaf. */
  readonly lower: number
  readonly upper: number
  /** Pages of an overflow. */
  readonly pageCount: number
}

export interface Node {
  /** Offset in the page. */
  readonly start: number
  readonly end: number
  readonly flags: number
  readonly key: Uint8Array
  /** Record of a leaf; for a large one, its location. */
  readonly data: Uint8Array
  /** Page number of the subtree in a branch. */
  readonly child: number
}

export function readTree(bytes: Uint8Array): Tree {
  const view = viewOf(bytes)
  const count = (offset: number): number => Number(view.getBigUint64(offset, true))
  const root = view.getBigUint64(40, true)
  return {
    flags: view.getUint16(4, true),
    depth: view.getUint16(6, true),
    branchPages: count(8),
    leafPages: count(16),
    overflowPages: count(24),
    entries: count(32),
    root: root === noPage ? null : Number(root),
  }
}

/** `page`: at least the first `metaBytes` of it. Null for a page that is not a meta page of this format. */
export function readMeta(page: Uint8Array): Meta | null {
  const view = viewOf(page)
  const pageBytes = view.getUint32(48, true)
  if (view.getUint32(24, true) !== magic || (view.getUint32(28, true) & 0xffff) !== formatVersion) return null
  if (pageBytes < pageBytesMin || pageBytes > pageBytesMax) return null
  return {
    address: view.getBigUint64(32, true),
    pageBytes,
    free: readTree(page.subarray(48, 48 + treeBytes)),
    databases: readTree(page.subarray(96, 96 + treeBytes)),
    lastPage: Number(view.getBigUint64(144, true)),
    transaction: view.getBigUint64(152, true),
  }
}

export function readHead(page: Uint8Array): PageHead {
  const view = viewOf(page)
  return {
    number: Number(view.getBigUint64(0, true)),
    transaction: view.getBigUint64(8, true),
    flags: view.getUint16(18, true),
    lower: view.getUint16(20, true),
    upper: view.getUint16(22, true),
    pageCount: view.getUint32(20, true),
  }
}

/** Nodes of a branch or leaf by ascending key; undefined if one is not within the page. */
export function readNodes(page: Uint8Array, { flags, lower }: PageHead): Node[] | undefined {
  const view = viewOf(page)
  const nodes: Node[] = []
  for (let index = 0; index < lower >> 1; index++) {
    const node = readNode(page, view, headBytes + view.getUint16(headBytes + 2 * index, true), flags)
    if (node === undefined) return undefined
    nodes.push(node)
  }
  return nodes
}

function readNode(page: Uint8Array, view: DataView, start: number, pageFlags: number): Node | undefined {
  const keyStart = start + nodeHeadBytes
  if (keyStart > page.length) return undefined
  const low = view.getUint32(start, true)
  const flags = view.getUint16(start + 4, true)
  const dataStart = keyStart + view.getUint16(start + 6, true)
  const isBranch = pageFlags === pageKind.branch
  const dataBytes = isBranch ? 0 : (flags & nodeFlag.large) !== 0 ? largeBytes : low
  const end = dataStart + dataBytes
  if (end > page.length) return undefined
  return {
    start,
    end: end + (end & 1),
    flags: isBranch ? 0 : flags,
    key: page.subarray(keyStart, dataStart),
    data: page.subarray(dataStart, end),
    child: isBranch ? low + flags * 2 ** 32 : 0,
  }
}

/** The location of the data of a large record. */
export function readLarge({ data }: Node): { page: number; pageCount: number } {
  const view = viewOf(data)
  return { page: Number(view.getBigUint64(0, true)), pageCount: Number(view.getBigUint64(16, true)) }
}

/** The size of the data that a leaf's node records. */
export function dataBytesOf(page: Uint8Array, { start }: Node): number {
  return viewOf(page).getUint32(start, true)
}

/** Reads this many bytes of an open file; bytes beyond its end are zero. */
export function readAt(file: number, position: number, bytes: number): Uint8Array {
  const buffer = new Uint8Array(bytes)
  for (let read = 0; read < bytes;) {
    const count = readSync(file, buffer, read, bytes - read, position + read)
    if (count === 0) break
    read += count
  }
  return buffer
}
