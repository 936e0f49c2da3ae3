/** `withdraw_approval`: an agent takes back a question of its own that no one needs to answer any more (M31). */
import { z } from "zod";
import { ConflictError, NotFoundError } from "../../../core/errors.ts";
import { DEFAULT_MAX_OUTPUT, type Tool } from "../../../core/ports/tool.ts";
import { OPEN_APPROVALS, parseApprovalId } from "../../../core/rights/approval.ts";
import type { StoreReader } from "../../../core/store/store.ts";
import { textOutput } from "./json-output.ts";

interface WithdrawDeps {
  readonly store: Pick<StoreReader, "approval">;
}

const input = z.strictObject({ approval: z.string().describe("The four letters of the approval") });

export const withdrawApprovalTool = ({ store }: WithdrawDeps): Tool<z.infer<typeof input>> => ({
  name: "withdraw_approval",
  description: "Withdraws an open approval question of yours. Its call is then not executed.",
  input,
  rights: [],
  replay: "safe",
  parallel: false,
  maxOutput: DEFAULT_MAX_OUTPUT,
  async execute({ approval: written }, { agent }) {
    const id = parseApprovalId(written);
    const approval = id && (await store.approval(id));
    if (!approval || approval.agentId !== agent.id) throw new NotFoundError(`You have no approval ${written}.`);
    if (!OPEN_APPROVALS.some((state) => state === approval.state)) {
      throw new ConflictError(`Approval ${approval.id} is already ${approval.state}.`);
    }
    return {
      ...textOutput(`Approval ${approval.id} is withdrawn.`),
      ops: [{ op: "approval.withdraw", of: { agentId: agent.id }, id: approval.id, reason: "the agent withdrew it" }],
    };
  },
});
