/** Requests to the admin listener of a server. */
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { join } from 'node:path'
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
export function callAdmin(call: AdminCall): Promise<AdminReply> {
  return new Promise((resolve, reject) => {
    const { request } = call.ca === undefined ? http : https
    const sent = request({ host: '127.0.0.1', agent: false, ...call }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
      response.on('error', reject)
    })
    sent.on('error', reject).end()
  })
}

/** The token that the server wrote at its start. */
export function adminTokenOf({ dataDir }: ServerProcess): string {
  return readFileSync(join(dataDir, 'admin-token'), 'utf8').trim()
}
