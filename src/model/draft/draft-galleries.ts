/**
 * Drafts the list of galleries, if a head reads the index of a gallery: from a file of the training in the package.
 */
import { readFile } from 'node:fs/promises'
import type { HeadGraph } from './draft-heads.js'
import { read, type Findings } from './findings.js'
import type { Inventory } from './inventory.js'

const fileNames = ['galleries.txt', 'galleries.json']

/** null: no head reads it. A placeholder stands for galleries that are not known. */
export async function draftGalleries(
  inventory: Inventory,
  graphs: readonly HeadGraph[],
  findings: Findings,
): Promise<string[] | null> {
  if (graphs.every(({ inputs }) => inputs.gallery_index === undefined)) return null
  for (const file of fileNames.filter((name) => inventory.files.includes(name))) {
    const galleries = await galleriesIn(inventory, file)
    if (galleries.length > 0)
      return findings.take('galleries', read(galleries, file), `${galleries.length}: ${galleries.join(', ')}`)
  }
  findings.need(
    'galleries',
    'the gall_id of each index from 1, in order: list them in galleries.txt, one on each line, or in galleries.json, and run init again',
  )
  return ['gallery_1']
}

async function galleriesIn(inventory: Inventory, file: string): Promise<string[]> {
  if (file.endsWith('.json')) {
    const list = await inventory.value(file)
    // Without an item, those behind it would have other indexes.
    return Array.isArray(list) && list.every((id) => typeof id === 'string') ? list : []
  }
  const text = await readFile(inventory.path(file), 'utf8')
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
