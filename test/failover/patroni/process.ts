/**
 * One service process of the site: a real `understudy serve` on a machine of its own, with the addresses of deploy/haproxy.cfg.
 */
import { join } from 'node:path'
import { JournalProcess, type Role } from '../journal-process.js'
import { executable } from '../../harness/server.js'
import { Machine } from './machine.js'

export class Process extends JournalProcess {
  readonly port = 8080
  readonly machine: Machine

  constructor(dir: string, name: string, address: string, journal: Readonly<Record<string, string>>) {
    const machine = new Machine(name, address)
    const env = {
      ...journal,
      UNDERSTUDY_HOST: '0.0.0.0',
      UNDERSTUDY_ADMIN_HOST: '0.0.0.0',
      UNDERSTUDY_ADMIN_PORT: '8081',
      UNDERSTUDY_ADMIN_TOKEN: 'token-of-the-admin-listener',
    }
    super(name, join(dir, name), env, [...machine.prefix, executable])
    this.machine = machine
    this.server.port = this.port
  }

  get host(): string {
    return this.machine.address
  }

  override async kill(): Promise<void> {
    await this.machine.kill()
    await super.kill()
  }

  role(): Promise<Role> {
    return this.roleAt(`http://${this.host}:8081`)
  }

  async dispose(): Promise<void> {
    await this.kill()
    await this.server.dispose()
  }
}
