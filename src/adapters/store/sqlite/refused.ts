/** Thrown by an op inside `applyChange` if its change must not be applied; `applyGroup` returns it as a refusal. */
import type { Refusal } from "../../../core/store/change.ts";

export class RefusedChange extends Error {
  readonly refused: Refusal;
  constructor(refused: Refusal, detail: string) {
    super(detail);
    this.refused = refused;
  }
}
