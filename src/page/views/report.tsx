/** Report: how the model ranks what the operators pick, compared with other versions and simple orders. */
import { useState } from 'preact/hooks'
import type { Report as ReportData } from '../../contract/index.js'
import { counted, duration, isoDay } from '../format.js'
import { language, t } from '../messages/index.js'
import type { StoredPage } from '../service/api.js'
import { serverNowMs, useNowMs } from '../service/clock.js'
import { useQuery } from '../service/query.js'
import { Missing } from '../parts/common.js'
import { Icon } from '../parts/icon.js'
import { ReportFigures, windowText } from './report-figures.js'

export function Report() {
  const { data, error } = useQuery<ReportData>('/api/report', { refreshOn: ['cycle'] })
  const to = data === null ? null : data.window.to
  return (
    <div class="view">
      <div class="list-head">
        <h1>{t.frame.report}</h1>
        {data !== null && <p class="muted list-note">{windowText(data)}</p>}
        {data !== null && to !== null && data.window.cycles > 0 && (
          <button
            class="button"
            type="button"
            onClick={() => {
              save(data, to).catch(reportError)
            }}
          >
            <Icon name="download" /> {t.parts.save}
          </button>
        )}
      </div>
      {data !== null && <ReportFigures report={data} />}
      {data === null && (error === null ? <Progress /> : <Missing error={error} what={t.data.report} />)}
    </div>
  )
}

/** The document of `understudy report --html`, made here. */
async function save(report: ReportData, to: string): Promise<void> {
  const { reportDocument } = await import('../report-document.js')
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([reportDocument(report, language)], { type: 'text/html' }))
  link.download = `report-${isoDay(to)}.html`
  link.click()
  URL.revokeObjectURL(link.href)
}

/** How much the service has to read, and for how long it has been reading. */
function Progress() {
  const { data } = useQuery<StoredPage>('/api/cycles?list=stored&limit=1')
  const [startMs] = useState(serverNowMs)
  const spanMs = Math.max(0, useNowMs() - startMs)
  const count = data === null ? null : data.newest - data.oldest + 1
  if (count === 0) return <p class="empty">{t.report.empty}</p>
  const cycles = count === null ? null : counted(count, t.units.cycles)
  return (
    <p class="empty">
      <progress aria-label={t.parts.loading(t.data.report)} />{' '}
      {cycles === null ? t.parts.loading(t.data.report) : t.report.reading(cycles, duration(spanMs))}
    </p>
  )
}
