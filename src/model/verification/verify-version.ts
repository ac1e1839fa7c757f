/**
 * The program of a process that verifies a version: see `loadCandidateModel`.
 */
import { constants, getPriority, setPriority } from 'node:os'
import { loadCodec } from '../../codec/index.js'
import type { ModelLog } from '../log.js'
import type { VerificationPlan } from '../sessions/protocol.js'
import { loadVerifiedModel } from './verified-model.js'

export async function verifyVersion(
  { options, codec }: VerificationPlan,
  log: ModelLog,
): Promise<{ readonly provider: string; readonly report: { readonly identity: string } }> {
  // The sessions of the checks inherit it, and yield the cores to the service.
  setPriority(Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL))
  const model = await loadVerifiedModel({ ...options, codec: loadCodec(codec).codec, log })
  await model.close()
  return { provider: model.provider, report: { identity: model.identity } }
}
