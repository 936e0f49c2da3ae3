/** Tokens that were minted before each belonged to the owner, to an application or to a person. */
import { defineCheck } from "../../operations/doctor/check.ts";
import { isOldToken } from "../auth/token-service.ts";
import { readTokens } from "../auth/token-storage.ts";

export const tokensCheck = defineCheck({
  id: "tokens",
  async check({ paths, store }) {
    const old = (await readTokens(paths.tokens, store)).filter(isOldToken);
    const fine = "Every token belongs to someone.";
    if (old.length === 0) return { fine };
    const listed = old.map(({ id, name }) => `${id} (${name})`).join(", ");
    const text = `Minted before tokens belonged to someone: ${listed}. Two of them that name the same user share a conversation.`;
    const help = "Mint new ones (`rookery people tokens add NAME --app APP`, or `--person ID`) and revoke these.";
    return { fine, findings: [{ level: "problem", text, help }] };
  },
});
