/** A value that is replaced as a whole. Whoever keeps this takes `current` when it begins its work, and passes that value on. */
export interface Current<Value> {
  readonly current: Value;
}
