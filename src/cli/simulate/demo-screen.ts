/**
 * The last screen of `understudy demo`: the page, what an editor wants to know, and commands to go on with.
 */
import { join } from 'node:path'
import {
  isComparable,
  rankerNames,
  type Difference,
  type PostKey,
  type Ranker,
  type Report,
} from '../../contract/index.js'
import type { NotablePost, NotablePosts } from '../../history/index.js'
import { shellWord } from '../../settings/index.js'
import { cellText, paragraphs } from '../text/data-table.js'
import { kstTime, minutes } from '../text/format.js'
import { pickSentences, windowSentence } from '../history/report-text.js'
import { fitCells, formatTable } from '../text/text-table.js'

const titleCellsMax = 60
/** A demo of an hour has a few saved posts: a verdict on them would say nothing. */
const comparedPostsMin = 10

export interface Demo {
  /** Address of the page with its token; null if the demo runs without the page. */
  readonly page: string | null
  readonly url: string
  readonly key: string
  /** Relative to the working directory, as a user types them. */
  readonly dataDir: string
  readonly modelsDir: string
  readonly lastCycleId: string
  /** The best post of the last cycle, if it scored one. */
  readonly best: PostKey | undefined
  readonly report: Report
  readonly posts: NotablePosts
}

/** Fits a terminal of `columns` cells. */
export function demoScreen(demo: Demo, columns: number | undefined): string {
  const { page, report, posts } = demo
  const paragraph = paragraphs(columns)
  const sections = [
    page === null ? '' : `The page: ${page}\n`,
    postTable(
      'Saved by the operators, and picked by the model before them:',
      'earlier by',
      posts.earlier,
      columns,
    ),
    postTable('Saved by the operators, and not picked by the model:', 'saved (KST)', posts.missed, columns),
    [windowSentence(report), ...pickSentences(report, comparedPostsMin)].map(paragraph).join(''),
    isComparable(report, comparedPostsMin) ? comparisonOf(report, columns) : '',
    paragraph(
      `The server at ${demo.url} runs until Ctrl-C. Its log: ${join(demo.dataDir, 'server.log')}. ` +
        'The simulated client sends no further cycle: a few minutes from now the page warns that one is overdue.',
    ),
    commandsOf(demo),
  ]
  return sections.filter((section) => section !== '').join('\n')
}

function postTable(
  title: string,
  firstHead: string,
  posts: readonly NotablePost[],
  columns: number | undefined,
): string {
  if (posts.length === 0) return ''
  const rows = posts.map((post) => [
    post.lead_minutes === null ? kstTime(post.saved_ms) : minutes(post.lead_minutes),
    fitCells(post.title, titleCellsMax),
    post.gall_id,
    String(post.post_no),
  ])
  const table = formatTable([firstHead, 'title', 'gallery', 'post'], rows, { cellsMax: columns, column: 1 })
  return paragraphs(columns)(title) + table
}

function comparisonOf({ rankers, differences }: Report, columns: number | undefined): string {
  const verdictOn = ({ name }: Ranker): string => {
    const isOfThis = ({ a, b }: Difference): boolean => a === 'model' && b === name
    return differences.find(isOfThis)?.verdict ?? ''
  }
  const nameOf = rankerNames(rankers, 'en')
  const rows = rankers.map((ranker) => [
    nameOf(ranker.name),
    cellText({ kind: 'ranked', value: ranker.rank_percentile }),
    verdictOn(ranker),
  ])
  const note =
    'Of the other pending posts, this share ranks below a post that the operators saved (95 % interval; in a random ' +
    'order: 50 %):'
  const table = formatTable(['order', 'ranks below', 'the model'], rows, { cellsMax: columns })
  return paragraphs(columns)(note) + table
}

function commandsOf({ url, key, dataDir, modelsDir, lastCycleId, best, posts }: Demo): string {
  const data = `--data-dir ${shellWord(dataDir)}`
  const post = posts.earlier[0] ?? best
  const commands = [
    `curl -s ${url}/v1/health; echo`,
    // A response is one line of hundreds of kilobytes.
    `curl -s -H 'Authorization: ${key}' ${url}/v1/scores/${lastCycleId} | head -c 600; echo`,
    `npx understudy report ${data}`,
    ...(post === undefined
      ? []
      : [
          `npx understudy explain ${shellWord(post.gall_id)} ${post.post_no} ${data} --models-dir ${shellWord(modelsDir)}`,
        ]),
  ]
  return commands.map((command) => `  ${command}\n`).join('')
}
