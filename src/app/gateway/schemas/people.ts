/** People, logins and tokens on the wire. */
import { z } from "zod";

const mentionSchema = z
  .strictObject({
    kind: z.enum(["conversation", "file"]).describe("A conversation, or a file of the home."),
    where: z.string().describe("The agent's id, or the path in the home."),
    sessionKey: z.string().optional().describe("Only for a conversation."),
    count: z.number().optional().describe("Messages and lines of history that mention the person."),
  })
  .meta({ id: "Mention" });

export const forgetReceiptSchema = z
  .strictObject({
    tombstone: z.string(),
    at: z.number(),
    removed: z.strictObject({
      agents: z.number(),
      messages: z.number(),
      jobs: z.number(),
      files: z.number(),
      logins: z.number(),
      tokens: z.number(),
    }),
    mentions: z.array(mentionSchema).describe("Where others mention the person."),
    backups: z.array(z.string()).describe("Made before: they still contain the person."),
  })
  .meta({ id: "ForgetReceipt" });

export const loginSchema = z
  .strictObject({
    id: z.string(),
    person: z.string(),
    createdAt: z.number(),
    expiresAt: z.number(),
    browser: z.string().optional().describe("The browser, as it names itself."),
  })
  .meta({ id: "Login" });

export const shownTokenSchema = z
  .strictObject({
    id: z.string(),
    name: z.string().describe("A label for people."),
    kind: z.enum(["application", "owner", "person"]).optional().describe("Absent: minted before tokens had kinds."),
    scopes: z.array(z.enum(["admin", "chat", "operate", "read"])),
    createdAt: z.number(),
    createdBy: z.string().describe("The token that minted it: revoking that one revokes this one too."),
    expiresAt: z.number().optional(),
    person: z
      .string()
      .optional()
      .describe("For the kind `person`: the person's id. Without a kind: the only `user` it may name."),
    app: z.string().optional().describe("For the kind `application`: the name that its users live under."),
    limits: z
      .strictObject({
        requestsPerMinute: z.number().optional(),
        messagesPerDay: z.number().optional(),
        tokensPerDay: z.number().optional(),
        dollarsPerDay: z.number().optional(),
      })
      .optional(),
  })
  .meta({ id: "ShownToken" });
