/**
 * Tree ensembles as LightGBM, XGBoost and scikit-learn export them: operators of `ai.onnx.ml`, whose trees are lists
 * of attributes, one entry a node. A tree is written here as it is drawn.
 */
import { mlDomain, type Attribute, type Operator } from './onnx-writer.js'

export type Tree = Split | Leaf

/** `yes` where the feature is at most (LEQ) or below (LT) the threshold. */
export interface Split {
  readonly feature: number
  readonly mode: 'BRANCH_LEQ' | 'BRANCH_LT'
  readonly threshold: number
  /** Where a missing value (NaN) goes. */
  readonly missing: 'yes' | 'no'
  readonly yes: Tree
  readonly no: Tree
}

/** What a leaf adds, one value a target or class. */
export interface Leaf {
  readonly values: readonly number[]
}

export interface Ensemble {
  readonly trees: readonly Tree[]
  /** Added once, one value a target or class. */
  readonly base?: readonly number[]
  /** `LOGISTIC` makes a share of a sum. Default NONE. */
  readonly postTransform?: 'NONE' | 'LOGISTIC' | 'SOFTMAX'
}

/** [N, features] float32 or float64 to [N, targets] float32, the sums of the leaves. */
export function treeRegressor(
  input: string,
  output: string,
  ensemble: Ensemble & { readonly targetCount: number },
): Operator {
  const flat = flatten(ensemble.trees)
  return {
    type: 'TreeEnsembleRegressor',
    domain: mlDomain,
    inputs: [input],
    outputs: [output],
    attributes: {
      ...nodeAttributes(flat),
      ...leafAttributes('target', flat),
      ...ending(ensemble),
      n_targets: { int: ensemble.targetCount },
      aggregate_function: { text: 'SUM' },
    },
  }
}

/** [N, features] to a label [N] int64 and scores [N, classes] float32. */
export function treeClassifier(
  input: string,
  outputs: { readonly label: string; readonly scores: string },
  ensemble: Ensemble & { readonly classCount: number },
): Operator {
  const flat = flatten(ensemble.trees)
  return {
    type: 'TreeEnsembleClassifier',
    domain: mlDomain,
    inputs: [input],
    outputs: [outputs.label, outputs.scores],
    attributes: {
      ...nodeAttributes(flat),
      ...leafAttributes('class', flat),
      ...ending(ensemble),
      classlabels_int64s: { ints: Array.from({ length: ensemble.classCount }, (_, label) => label) },
    },
  }
}

/** A node of tree `tree` with its number inside it. */
interface FlatNode {
  readonly tree: number
  readonly node: number
  readonly part: Tree
  yes: number
  no: number
}

/** Each tree in the order in which it is walked, its root first. */
function flatten(trees: readonly Tree[]): FlatNode[] {
  const all: FlatNode[] = []
  trees.forEach((root, tree) => {
    let count = 0
    const add = (part: Tree): number => {
      const flat: FlatNode = { tree, node: count++, part, yes: 0, no: 0 }
      all.push(flat)
      if ('values' in part) return flat.node
      flat.yes = add(part.yes)
      flat.no = add(part.no)
      return flat.node
    }
    add(root)
  })
  return all
}

function nodeAttributes(nodes: readonly FlatNode[]): Record<string, Attribute> {
  const split = (part: Tree): Split | null => ('values' in part ? null : part)
  return {
    nodes_treeids: { ints: nodes.map(({ tree }) => tree) },
    nodes_nodeids: { ints: nodes.map(({ node }) => node) },
    nodes_featureids: { ints: nodes.map(({ part }) => split(part)?.feature ?? 0) },
    nodes_modes: { texts: nodes.map(({ part }) => split(part)?.mode ?? 'LEAF') },
    nodes_values: { floats: nodes.map(({ part }) => split(part)?.threshold ?? 0) },
    nodes_truenodeids: { ints: nodes.map(({ yes }) => yes) },
    nodes_falsenodeids: { ints: nodes.map(({ no }) => no) },
    nodes_missing_value_tracks_true: {
      ints: nodes.map(({ part }) => (split(part)?.missing === 'yes' ? 1 : 0)),
    },
  }
}

function leafAttributes(of: 'target' | 'class', nodes: readonly FlatNode[]): Record<string, Attribute> {
  const entries = nodes.flatMap(({ tree, node, part }) =>
    'values' in part ? part.values.map((value, id) => ({ tree, node, id, value })) : [],
  )
  return {
    [`${of}_treeids`]: { ints: entries.map(({ tree }) => tree) },
    [`${of}_nodeids`]: { ints: entries.map(({ node }) => node) },
    [`${of}_ids`]: { ints: entries.map(({ id }) => id) },
    [`${of}_weights`]: { floats: entries.map(({ value }) => value) },
  }
}

function ending({ base, postTransform }: Ensemble): Record<string, Attribute> {
  return {
    post_transform: { text: postTransform ?? 'NONE' },
    ...(base === undefined ? {} : { base_values: { floats: base } }),
  }
}
