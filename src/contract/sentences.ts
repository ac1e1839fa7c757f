/**
 * Facts that have a sentence for readers: a code, and the values that the sentence names. A table has the sentences of one
 * language by code.
 */

export type Texts<Name extends string> = Readonly<Record<Name, string>>
export type Numbers<Name extends string> = Readonly<Record<Name, number>>

type Table = Readonly<Record<string, (values: never) => string>>
type ValuesOf<Sentence> = Sentence extends (values: infer Values) => string ? Values : never

export type FactOf<Sentences extends Table> = {
  readonly [Code in keyof Sentences]: { readonly code: Code } & ValuesOf<Sentences[Code]>
}[keyof Sentences]

export function sentenceOf<Sentences extends Table>(
  fact: { readonly code: keyof Sentences },
  sentences: Sentences,
): string {
  return (sentences[fact.code] as (values: object) => string)(fact)
}
