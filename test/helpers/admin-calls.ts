/** Requests to the admin listener of a server. */
import { readFileSync } from 'node:fs'
import type http from 'node:http'
import type https from 'node:https'
import { join } from 'node:path'
import { send } from '../harness/http.js'
import type { ServerProcess } from './server-process.js'

export interface AdminReply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

export interface AdminCall extends https.RequestOptions {
  readonly port: number
  readonly path: string
}

/** Over TLS if `ca` is given. */
export async function callAdmin(call: AdminCall): Promise<AdminReply> {
  const { status, headers, body } = await send(call)
  return { status, headers, text: body.toString() }
}

/** The token that the server wrote at its start. */
export function adminTokenOf({ dataDir }: ServerProcess): string {
  return readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
}
