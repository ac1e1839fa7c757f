/** All mutants. */
import { adminMutants } from './admin.js'
import { baseMutants } from './base.js'
import { cliMutants } from './cli.js'
import { clientMutants } from './client.js'
import { codecMutants } from './codec.js'
import { contractMutants } from './contract.js'
import { cycleMutants } from './cycle.js'
import { featuresMutants } from './features.js'
import { historyMutants } from './history.js'
import { imagesMutants } from './images.js'
import { modelMutants } from './model.js'
import { nativeMutants } from './native.js'
import { pageMutants } from './page.js'
import { poolMutants } from './pool.js'
import { scriptsMutants } from './scripts.js'
import { serverMutants } from './server.js'
import { simulationMutants } from './simulation.js'
import { simulatorMutants } from './simulator.js'
import { storeJournalMutants } from './store-journal.js'
import { storeMutants } from './store.js'
import { listMutants, type Mutant } from './mutant.js'

export const mutants: readonly Mutant[] = listMutants([
  ...adminMutants,
  ...baseMutants,
  ...cliMutants,
  ...clientMutants,
  ...codecMutants,
  ...contractMutants,
  ...cycleMutants,
  ...featuresMutants,
  ...historyMutants,
  ...imagesMutants,
  ...modelMutants,
  ...nativeMutants,
  ...pageMutants,
  ...poolMutants,
  ...scriptsMutants,
  ...serverMutants,
  ...simulationMutants,
  ...simulatorMutants,
  ...storeJournalMutants,
  ...storeMutants,
])
