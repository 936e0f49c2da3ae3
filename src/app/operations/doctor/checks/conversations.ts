/** Whether people would begin new conversations because `session.dmScope` has changed. */
import { carryPlan, carryWarning } from "../../../../engine/people/carry-over.ts";
import { defineCheck } from "../check.ts";

export const conversationsCheck = defineCheck({
  id: "conversations",
  needs: ["config", "store"],
  async check({ config, store }) {
    const text = carryWarning(await carryPlan({ store }, config), true);
    const fine = "No conversation is left behind by a change of session.dmScope.";
    if (text === undefined) return { fine };
    const help = "`rookery sessions carry-over` lists them, carries them over or leaves them.";
    return { fine, findings: [{ level: "notice", text, help }] };
  },
});
