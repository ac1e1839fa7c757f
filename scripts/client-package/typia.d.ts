// Takes the place of typia in the declarations of the client: what a validator checks is no part of a type.
type Nothing<Rule> = Rule extends never ? never : unknown

export declare namespace tags {
  type JsonSchemaPlugin<Rule> = Nothing<Rule>
  type MaxItems<Rule> = Nothing<Rule>
  type Maximum<Rule> = Nothing<Rule>
  type MinLength<Rule> = Nothing<Rule>
  type Minimum<Rule> = Nothing<Rule>
  type Pattern<Rule> = Nothing<Rule>
  type TagBase<Rule> = Nothing<Rule>
  type Type<Rule> = Nothing<Rule>
  type UniqueItems = unknown
}
