/**
 * The document of `understudy report --html`: the page's Report view with its data inside, as one file without a script.
 * The build bundles it with what it imports, so that the program needs no package of the page.
 */
import { renderToString } from 'preact-render-to-string'
import type { Report } from '../contract/index.js'
import { dayClock } from './format.js'
import style from './styles/document.css?inline'
import { ReportFigures, windowText } from './views/report-figures.js'

export function reportDocument(report: Report): string {
  const { from, to } = report.window
  const title = `Rehearsal ${dayClock(from)} to ${dayClock(to)} KST`
  const head = renderToString(
    <>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{title}</title>
    </>,
  )
  const body = renderToString(
    <main class="view">
      <div class="list-head">
        <h1>{title}</h1>
        <p class="muted list-note">{windowText(report)}</p>
      </div>
      <ReportFigures report={report} isDocument />
    </main>,
  )
  // Text of an element would be escaped; the style is ours.
  return `<!doctype html>\n<html lang="en"><head>${head}<style>${style}</style></head><body>${body}</body></html>\n`
}
