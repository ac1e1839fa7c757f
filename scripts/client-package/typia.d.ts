// Takes the place of typia in the declarations of the client: what a validator checks is no part of a type.
export declare namespace tags {
  type JsonSchemaPlugin<_> = unknown
  type MaxItems<_> = unknown
  type Maximum<_> = unknown
  type MinLength<_> = unknown
  type Minimum<_> = unknown
  type Pattern<_> = unknown
  type TagBase<_> = unknown
  type Type<_> = unknown
  type UniqueItems = unknown
}
