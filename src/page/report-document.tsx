/**
 * The document of `understudy report --html`: the page's Report view with its data inside, as one file without a script, in every
 * language of the page; the reader switches between them. The build bundles it with what it imports, so that the program needs
 * no package of the page.
 */
import { renderToString } from 'preact-render-to-string'
import type { Report } from '../contract/index.js'
import { dayClock } from './format.js'
import { languages, setLanguage, t, type Language } from './messages/index.js'
import style from './styles/document.css?inline'
import { ReportFigures, windowText } from './views/report-figures.js'

/** `first`: the language in which the document opens. */
export function reportDocument(report: Report, first: Language): string {
  const inEach = (render: (language: Language) => string): string =>
    languages
      .map((language) => {
        setLanguage(language)
        return render(language)
      })
      .join('')
  const switches = inEach((language) =>
    renderToString(
      <>
        <input
          id={`in-${language}`}
          class="sr-only"
          type="radio"
          name="language"
          defaultChecked={language === first}
        />
        <label for={`in-${language}`} lang={language}>
          {t.language.name}
        </label>
      </>,
    ),
  )
  const bodies = inEach((language) => renderToString(<Body report={report} language={language} />))
  setLanguage(first)
  const head = renderToString(
    <>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{titleOf(report)}</title>
    </>,
  )
  // Text of an element would be escaped; the style is ours.
  return `<!doctype html>\n<html lang="${first}"><head>${head}<style>${style}</style></head><body>${switches}${bodies}</body></html>\n`
}

function titleOf({ window: { from, to } }: Report): string {
  return t.report.title(dayClock(from), dayClock(to))
}

function Body({ report, language }: { readonly report: Report; readonly language: Language }) {
  return (
    <main class="view" lang={language}>
      <div class="list-head">
        <h1>{titleOf(report)}</h1>
        <p class="muted list-note">{windowText(report)}</p>
      </div>
      <ReportFigures report={report} isDocument />
    </main>
  )
}
