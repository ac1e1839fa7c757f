/** A log that discards everything. */
import type { ModelLog } from '../../src/model/index.js'

export const silentLog: ModelLog = { info: () => undefined, warn: () => undefined, error: () => undefined }
