/** Notices about views that show earlier data: since when, and why. A lost connection has a separate notice. */
import { useConnectionState } from '../service/connection.js'
import { useStaleData } from '../service/query.js'
import { clockSeconds } from '../format.js'
import { t } from '../messages/index.js'
import { Text } from './common.js'

export function StaleNotices() {
  const data = useStaleData()
  const state = useConnectionState()
  const isShown = state !== 'lost' && state !== 'denied'
  // The region exists before its text does: otherwise screen readers do not read it.
  return (
    <div class="stale-notices" role="status">
      {isShown &&
        data.map(({ what, sinceMs, reason }) => (
          <p key={what} class="notice warn">
            {t.parts.stale(clockSeconds(sinceMs), t.data[what], <Text>{reason}</Text>)}
          </p>
        ))}
    </div>
  )
}
