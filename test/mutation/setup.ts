/** A mutant that fails a property is killed: its smallest counterexample would cost more than all other tests. */
import fc from 'fast-check'

fc.configureGlobal({ endOnFailure: true })
