/** The questions that wait for the person, oldest first, without those put off. */

import { ApiError } from "../../client/api.ts";
import { type EngineApi, pathOf } from "../../client/engine-api.ts";
import type { ApprovalAnswer, AskedApproval } from "./approval-panel.ts";

export class ApprovalQueue {
  readonly #api: EngineApi;
  readonly #onChange: () => void;
  readonly #later = new Set<string>();
  #items: readonly AskedApproval[] = [];
  #refreshing: Promise<void> | undefined;
  #again = false;

  constructor(api: EngineApi, onChange: () => void) {
    this.#api = api;
    this.#onChange = onChange;
  }

  /** All that wait, also those put off. */
  get count(): number {
    return this.#items.length;
  }

  get open(): readonly AskedApproval[] {
    return this.#items.filter(({ id }) => !this.#later.has(id));
  }

  /** Calls that come while it reads lead to one more reading. */
  refresh(): Promise<void> {
    if (this.#refreshing) this.#again = true;
    this.#refreshing ??= this.#read().finally(() => {
      this.#refreshing = undefined;
      if (!this.#again) return;
      this.#again = false;
      void this.refresh();
    });
    return this.#refreshing;
  }

  async #read(): Promise<void> {
    const list = await this.#api
      .get<{ items: readonly AskedApproval[] }>("/api/approvals", { state: "pending", limit: 20 })
      .catch(() => undefined);
    if (!list) return;
    this.#items = [...list.items].reverse();
    this.#onChange();
  }

  /** The question with the rules that a yes for always would store; undefined if it was answered. */
  async read({ id }: AskedApproval): Promise<AskedApproval | undefined> {
    const found = await this.#api.get<AskedApproval>(pathOf("api", "approvals", id)).catch(() => undefined);
    return found?.state === "pending" ? found : undefined;
  }

  /** Durable when it resolves. An answer that another surface gave first counts. */
  async answer({ id, digest }: AskedApproval, answer: ApprovalAnswer): Promise<void> {
    this.#later.add(id);
    if (answer !== "later") {
      const always = answer === "yes" || answer === "no" ? undefined : answer;
      const body = { answer: answer === "no" ? "no" : "yes", digest, always };
      try {
        await this.#api.post(pathOf("api", "approvals", id), body);
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 409)) {
          this.#later.delete(id);
          throw error;
        }
      }
    }
    await this.refresh();
  }
}
