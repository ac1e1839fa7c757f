/** A journal with some calls replaced, to inject faults. */
import type { Journal } from '../../src/store/journal/journal.js'

export function withCalls(journal: Journal, replaced: Partial<Journal>): Journal {
  return {
    environment: journal.environment,
    id: journal.id,
    append: (entry) => journal.append(entry),
    renew: (epoch) => journal.renew(epoch),
    acquire: (node) => journal.acquire(node),
    release: (epoch) => journal.release(epoch),
    state: () => journal.state(),
    follow: (from, apply, partial) => journal.follow(from, apply, partial),
    prune: (epoch, olderThanMs) => journal.prune(epoch, olderThanMs),
    close: () => journal.close(),
    ...replaced,
  }
}
