/**
 * Warnings of a response: those of the plan, and about the kind of the model and the texts and images that it did not get.
 */
import type { Warning } from '../contract/index.js'
import type { Model } from '../model/index.js'
import { PostWarning, type CyclePlan } from '../pool/index.js'
import type { EmbeddingInputs } from './embeddings/index.js'

/** The inputs are by slot. */
export function warningsOf(model: Model, plan: CyclePlan, inputs: EmbeddingInputs): Warning[] {
  return [...modelKindWarnings(model), ...plan.warnings, ...missingInputWarnings(model, plan, inputs)]
}

/** Counts the posts that are scored without their text or images. */
function missingInputWarnings(
  { text, image }: Model,
  { scoring, next }: CyclePlan,
  { textEncoded, textUnencodable, imagesEncoded }: EmbeddingInputs,
): Warning[] {
  const lateText = new PostWarning('text_not_encoded')
  const badText = new PostWarning('text_not_encodable')
  const withoutImages = new PostWarning('images_not_encoded')
  const { imagesExpected, imagesInPost } = next.posts
  for (let row = 0; row < scoring.count; row++) {
    const slot = scoring.slots[row]!
    const name = (): [string, number] => [next.galleries[next.gallery[slot]!]!, next.postNo[slot]!]
    if (text !== null && textEncoded[slot] === 0)
      (textUnencodable[slot] === 1 ? badText : lateText).add(...name())
    if (image?.required !== true) continue
    const expected = imagesExpected[slot]!
    const due = Number.isNaN(expected) ? imagesInPost[slot]! : expected
    if (imagesEncoded[slot]! < due) withoutImages.add(...name())
  }
  return [...lateText.list(), ...badText.list(), ...withoutImages.list()]
}

/** Every response of a transport test carries this warning. */
function modelKindWarnings({ kind, version }: Model): Warning[] {
  if (kind === 'trained') return []
  const detail = `${version} is not a trained model; its scores have no meaning`
  return [{ code: 'transport_test', count: null, detail }]
}
