/** How an op says that its change must not be applied: thrown inside `applyChange`, returned by `applyGroup`. */
import type { Refusal } from "../../../core/store/change.ts";

export class RefusedChange extends Error {
  readonly refused: Refusal;
  constructor(refused: Refusal, detail: string) {
    super(detail);
    this.refused = refused;
  }
}
