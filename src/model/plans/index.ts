/**
 * Plans for the child processes of a model, made from its package and the configuration.
 */
export {
  planHeadPorts,
  planHeadWidths,
  planImagePorts,
  planModel,
  planTextPorts,
  type ModelPlans,
  type PlanOptions,
} from './plan-model.js'
export type {
  FilePlan,
  GraphPlan,
  HeadColumn,
  HeadGraphPlan,
  HeadPorts,
  HeadsPlan,
  HeadWidths,
  ImagePlan,
  ImagePorts,
  MatrixName,
  Role,
  ServingPlan,
  TextPlan,
  TextPorts,
} from './plan.js'
