/** What the operators saved last, with the rank that the model had given it one cycle before. */
import type { Save } from '../service/api.js'
import { cycleLabel, integer, score } from '../format.js'
import { Badge } from '../parts/common.js'
import { postAddress } from '../router.js'

interface SavesProps {
  readonly saves: readonly Save[]
  /** On a narrow screen the list opens on demand. */
  readonly isFolded: boolean
}

export function Saves({ saves, isFolded }: SavesProps) {
  if (isFolded)
    return (
      <details class="panel folded">
        <summary>Latest saves ({saves.length})</summary>
        <SaveList saves={saves} />
      </details>
    )
  return (
    <aside class="aside panel" aria-label="Latest saves">
      <h2>Latest saves</h2>
      <SaveList saves={saves} />
    </aside>
  )
}

function SaveList({ saves }: Pick<SavesProps, 'saves'>) {
  return (
    <>
      {saves.length === 0 ? (
        <p class="empty">Nobody has saved a post since the start of the service.</p>
      ) : (
        <div class="aside-scroll" tabIndex={0} role="region" aria-label="Latest saves, list">
          <table class="saves">
            <caption class="sr-only">Posts that operators saved, newest first</caption>
            <thead>
              <tr>
                <th scope="col">Post</th>
                <th scope="col">Tier</th>
                <th scope="col" class="number">
                  Rank
                </th>
                <th scope="col" class="number">
                  Score
                </th>
              </tr>
            </thead>
            <tbody>
              {saves.map((save) => (
                <tr key={`${save.cycle_id} ${save.gall_id} ${save.post_no}`}>
                  <th scope="row">
                    <a class="clip" href={postAddress(save.gall_id, save.post_no)}>
                      {save.gall_id}
                    </a>
                    <span class="muted">
                      {save.post_no} · {cycleLabel(save.cycle_id)}
                    </span>
                  </th>
                  <td>{save.tier === null ? '–' : <Badge tone="accent">{save.tier}</Badge>}</td>
                  <td class="number">
                    {integer(save.rank)}
                    <span class="muted of">of {integer(save.of)}</span>
                  </td>
                  <td class="number">{score(save.score)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}
