/** All mutants. */
import { contractMutants } from './contract.js'
import { listMutants, type Mutant } from './mutant.js'
import { poolMutants } from './pool.js'
import { simulationMutants } from './simulation.js'

export const mutants: readonly Mutant[] = listMutants([
  ...contractMutants,
  ...poolMutants,
  ...simulationMutants,
])
