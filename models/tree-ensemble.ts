/**
 * Tree ensembles, as LightGBM, XGBoost and scikit-learn export them: operators of `ai.onnx.ml`, which represent trees as
 * attribute lists with one entry per node. Here a tree is a nested object.
 */
import { mlDomain, type Attribute, type Operator } from './onnx-writer.js'

export type Tree = Split | Leaf

/** Takes the branch `yes` if the feature is at most (LEQ) or below (LT) the threshold. */
export interface Split {
  readonly feature: number
  readonly mode: 'BRANCH_LEQ' | 'BRANCH_LT'
  readonly threshold: number
  /** The branch of a missing value (NaN). */
  readonly missing: 'yes' | 'no'
  readonly yes: Tree
  readonly no: Tree
}

/** Values that a leaf adds, one per target or class. */
export interface Leaf {
  readonly values: readonly number[]
}

export interface Ensemble {
  readonly trees: readonly Tree[]
  /** Added once, one value per target or class. */
  readonly base?: readonly number[]
  /** `LOGISTIC` maps a sum to 0 to 1. Default NONE. */
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
      ...resultAttributes(ensemble),
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
      ...resultAttributes(ensemble),
      classlabels_int64s: { ints: Array.from({ length: ensemble.classCount }, (_, label) => label) },
    },
  }
}

/** A node with the index of its tree and its index in the tree. */
interface FlatNode {
  readonly tree: number
  readonly node: number
  readonly part: Tree
  yes: number
  no: number
}

/** The nodes of all trees, each tree in pre-order. */
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

function resultAttributes({ base, postTransform }: Ensemble): Record<string, Attribute> {
  return {
    post_transform: { text: postTransform ?? 'NONE' },
    ...(base === undefined ? {} : { base_values: { floats: base } }),
  }
}
